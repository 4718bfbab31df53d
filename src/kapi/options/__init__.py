"""The flags: one dataclass per flag group; a flag is declared once (name, default, help, check)."""
