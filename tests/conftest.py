"""The order of the files: the long ones begin first, so that all workers end at about one time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

LONG = (
    "test_profile_cost",
    "test_page_cache",
    "test_run_tune",
    "test_tune_guard",
    "test_wheel",
    "test_bounds",
    "test_names",
    "test_links",
    "test_context",
    "test_book",
    "test_programs",
    "test_current_folder",
    "test_run_interrupted",
    "test_lower_bounds",
    "test_sudo",
    "test_launcher",
    "test_run_disk",
    "test_determinism",
    "test_run_result",
    "test_burst_sum",
    "test_run_resume",
    "test_run_lock",
    "test_build_inputs",
    "test_inspect",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of long files to the front."""
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))
