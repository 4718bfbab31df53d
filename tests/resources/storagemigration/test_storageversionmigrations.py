"""Storage version migrations: what is migrated stays, and an outcome is final."""

from __future__ import annotations

from typing import Any

MIGRATIONS = "storagemigration.k8s.io/v1:storageversionmigrations"


def migration(**resource: str) -> dict[str, Any]:
    return {"kind": "StorageVersionMigration", "spec": {"resource": resource}}


def test_a_migration_names_a_resource(cluster: Any) -> None:
    assert cluster.problems(MIGRATIONS, migration(group="Bad_Group"))[0] == (
        "spec.resource.resource: Required value: resource is required to be set"
    )


def test_an_outcome_is_final(cluster: Any) -> None:
    made = cluster.made(MIGRATIONS, migration(resource="widgets", group="example.com"))
    done = {
        "type": "Succeeded",
        "status": "True",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": "2024-05-01T10:00:00Z",
    }
    path = f"{MIGRATIONS}/{cluster.name}/status"
    finished = cluster.call("PUT", path, {**made, "status": {"conditions": [done]}})
    assert finished.status == 200, finished.body
    [problem] = cluster.call("PUT", path, {**finished.body, "status": {}}).problems
    assert problem.endswith("Success condition cannot be set to false once it is true")
    assert cluster.cells(MIGRATIONS)["Resource"] == "widgets.example.com"
