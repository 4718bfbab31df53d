from __future__ import annotations

from importlib import import_module

import pytest

from kapi.admission.order import DEFAULT, PLUGINS, REMOVED, enabled_plugins


@pytest.mark.parametrize("module", [plugin.module for plugin in PLUGINS if plugin.module])
def test_every_registered_module_builds_a_plugin(module: str) -> None:
    assert callable(import_module(f"kapi.admission.plugins.{module}").build)


def test_the_order_is_fixed_whatever_order_flags_name_plugins_in() -> None:
    names = [p.name for p in enabled_plugins(("AlwaysDeny", "AlwaysAdmit"), ("ResourceQuota",))]
    assert names[0] == "AlwaysAdmit" and names[-1] == "AlwaysDeny"
    assert set(names) == DEFAULT - {"ResourceQuota"} | {"AlwaysDeny", "AlwaysAdmit"}


def test_the_old_flag_names_all_that_run() -> None:
    assert [p.name for p in enabled_plugins((), (), ("ResourceQuota", "LimitRanger"))] == [
        "LimitRanger",
        "ResourceQuota",
    ]


def test_no_plugin_goes_by_a_removed_name() -> None:
    assert not REMOVED.keys() & {plugin.name for plugin in PLUGINS}
