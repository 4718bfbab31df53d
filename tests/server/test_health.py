"""What the health endpoints say, word for word."""

from __future__ import annotations

import asyncio

import pytest

from kapi.server.health import Check
from kapi.server.server import GenericServer


def failing(name, why="because", **more):
    async def run():
        return why

    return Check(name=name, run=run, **more)


def passing(name, **more):
    async def run():
        return None

    return Check(name=name, run=run, **more)


def body(response):
    return response.status, response.body.decode()


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_well_is_ok(new_config, ask, endpoint):
    response = ask(GenericServer("kube", new_config()), f"/{endpoint}")
    assert body(response) == (200, "ok")
    assert (b"content-type", b"text/plain; charset=utf-8") in response.headers
    assert (b"x-content-type-options", b"nosniff") in response.headers


def test_verbose_lists_the_checks_in_order_those_of_delegates_first(new_config, ask):
    config = new_config(health_checks=(passing("etcd"), passing("etcd-readiness", endpoints=("readyz",))))
    inner = GenericServer("inner", config)
    outer = GenericServer("outer", config, inner)
    outer.add_check(passing("outer-check"))

    async def hook(context):
        raise AssertionError("it is not run here")

    inner.add_post_start_hook("inner-hook", hook)
    outer.add_post_start_hook("rbac/outer-hook", hook)
    outer.add_generic_hook("generic-hook", hook)
    status, text = body(ask(outer, "/readyz?verbose"))
    assert status == 500
    assert text == (
        "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n"
        "[-]poststarthook/generic-hook failed: reason withheld\n"
        "[-]poststarthook/inner-hook failed: reason withheld\n"
        "[+]outer-check ok\n"
        "[-]poststarthook/rbac/outer-hook failed: reason withheld\n"
        "[+]shutdown ok\nreadyz check failed\n"
    )
    assert body(ask(outer, "/livez/poststarthook/rbac/outer-hook")) == (500, "internal server error: not finished\n")


def test_verbose_and_well_ends_with_passed(new_config, ask):
    server = GenericServer("kube", new_config())
    assert body(ask(server, "/livez?verbose")) == (
        200,
        "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\nlivez check passed\n",
    )


def test_checks_can_be_excluded_and_a_wrong_name_is_warned_of(new_config, ask):
    server = GenericServer("kube", new_config(health_checks=(failing("etcd"),)))
    assert ask(server, "/healthz").status == 500
    assert body(ask(server, "/healthz?exclude=etcd")) == (200, "ok")
    assert body(ask(server, "/healthz?verbose&exclude=etcd&exclude=b&exclude=a")) == (
        200,
        "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check passed\n',
    )


def test_a_failure_is_always_verbose_but_its_reason_is_only_in_the_log(new_config, ask, log):
    log.verbosity = 2
    server = GenericServer("kube", new_config(health_checks=(failing("etcd", "connection refused"),)))
    assert body(ask(server, "/healthz")) == (
        500,
        "[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n"
        "[-]etcd failed: reason withheld\nhealthz check failed\n",
    )
    assert "connection refused" in log.stream.getvalue()


def test_a_check_alone_tells_its_reason(new_config, ask):
    server = GenericServer("kube", new_config(health_checks=(failing("etcd", "connection refused"),)))
    assert body(ask(server, "/livez/etcd")) == (500, "internal server error: connection refused\n")
    alone = ask(server, "/livez/ping?verbose")
    assert body(alone) == (200, "ok")
    assert b"x-content-type-options" not in dict(alone.headers)


def test_livez_is_patient_with_the_start_and_readyz_is_not(new_config, ask, clock):
    checks = (failing("booting", boot=True),)
    server = GenericServer("kube", new_config(clock=clock, livez_grace_period=30.0, health_checks=checks))
    assert ask(server, "/livez").status == 200
    assert ask(server, "/readyz").status == 500
    assert ask(server, "/healthz").status == 500
    clock.time += 31
    assert ask(server, "/livez").status == 500


def test_readyz_fails_once_shutdown_has_begun(new_config, ask):
    config = new_config()
    server = GenericServer("kube", config)
    assert not config.lifecycle.has_been_ready.is_set()
    assert ask(server, "/readyz").status == 200
    assert config.lifecycle.has_been_ready.is_set()
    config.lifecycle.shutdown_initiated.set()
    assert body(ask(server, "/readyz")) == (
        500,
        "[+]ping ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n",
    )
    assert body(ask(server, "/readyz/shutdown")) == (500, "internal server error: process is shutting down\n")
    assert ask(server, "/livez").status == 200
    assert ask(server, "/livez/shutdown").status == 404


def test_nothing_can_be_added_once_the_server_is_prepared(new_config):
    server = GenericServer("kube", new_config())

    async def hook(*_):
        await asyncio.sleep(0)

    server.add_post_start_hook("a", hook)
    with pytest.raises(ValueError, match="already"):
        server.add_post_start_hook("a", hook)
    server.prepare_run()
    with pytest.raises(RuntimeError):
        server.add_post_start_hook("b", hook)
    with pytest.raises(RuntimeError):
        server.add_check(passing("c"))


def test_the_results_of_checks_are_metrics(new_config, ask):
    server = GenericServer("kube", new_config(health_checks=(failing("etcd"),)))
    ask(server, "/livez")
    lines = ask(server, "/metrics/slis").body.decode().splitlines()
    assert 'kubernetes_healthcheck{name="etcd",type="livez"} 0' in lines
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1' in lines
