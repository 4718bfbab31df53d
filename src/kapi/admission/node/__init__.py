"""What a node may write: itself, its pods, and what they need."""
