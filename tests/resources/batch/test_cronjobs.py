from __future__ import annotations

from typing import Any

import pytest

PATH = "batch/v1:cronjobs"


def cron(job: dict[str, Any], schedule: str = "0 * * * *", name: str = "tick", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, "jobTemplate": {"spec": job["spec"]}} | spec}


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("0 * * *", "expected exactly 5 fields, found 4: [0 * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 5-1", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
    ],
)
def test_a_schedule_that_cannot_be_understood_is_refused(api: Any, job: Any, schedule: str, why: str) -> None:
    assert api.create(PATH, cron(job(), schedule)).problems == [f'spec.schedule: Invalid value: "{schedule}": {why}']


@pytest.mark.parametrize("schedule", ["*/5 0-6,12 ? jan-MAR mon", "@daily", "@every 1h30m", "5/15 * 1 1 0"])
def test_schedules_may_be_written_in_many_ways(api: Any, job: Any, schedule: str) -> None:
    assert api.made(PATH, cron(job(), schedule))["spec"]["schedule"] == schedule


def test_a_zone_in_the_schedule_belongs_into_its_own_field(api: Any, job: Any) -> None:
    assert api.create(PATH, cron(job(), "CRON_TZ=UTC 0 * * * *")).problems == [
        'spec.schedule: Invalid value: "CRON_TZ=UTC 0 * * * *": '
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    ]


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc", "local"])
def test_a_zone_must_be_in_the_database(api: Any, job: Any, zone: str) -> None:
    answer = api.create(PATH, cron(job(), timeZone=zone))
    assert all(p.startswith("spec.timeZone: Invalid value: ") for p in answer.problems)
    assert api.made(PATH, cron(job(), timeZone="Europe/Zurich"))["spec"]["timeZone"] == "Europe/Zurich"


def test_the_jobs_it_makes_select_their_pods_themselves(api: Any, job: Any) -> None:
    wanted = cron(job(selector={"matchLabels": {"a": "b"}}, manualSelector=True))
    at = "spec.jobTemplate.spec"
    assert api.create(PATH, wanted).problems == [
        f'{at}.selector: Invalid value: {{"matchLabels":{{"a":"b"}}}}: `selector` will be auto-generated',
        f'{at}.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ]


def test_the_jobs_it_makes_are_defaulted_only_when_they_are_made(api: Any, job: Any) -> None:
    made = api.made(PATH, cron(job()))["spec"]
    assert "backoffLimit" not in made["jobTemplate"]["spec"]
    assert made["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert (made["concurrencyPolicy"], made["successfulJobsHistoryLimit"], made["suspend"]) == ("Allow", 3, False)


def test_names_leave_room_for_the_time(api: Any, job: Any) -> None:
    name = "a" * 53
    assert api.create(PATH, cron(job(), name=name)).problems == [
        f'metadata.name: Invalid value: "{name}": must be no more than 52 characters'
    ]


def test_the_columns_show_when_it_ran(api: Any, job: Any) -> None:
    api.made(PATH, cron(job(), suspend=True))
    cells = api.cells(f"{PATH}/tick")
    assert (cells["Timezone"], cells["Suspend"], cells["Active"], cells["Last Schedule"]) == (
        "<none>",
        "True",
        0,
        "<none>",
    )
    assert (cells["Containers"], cells["Selector"]) == ("task", "<none>")
    api.patch(f"{PATH}/tick/status", {"status": {"lastScheduleTime": "2024-05-01T10:00:00Z"}})
    assert api.cells(f"{PATH}/tick")["Last Schedule"] != "<none>"
