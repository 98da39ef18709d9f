"""The order of the files: the long ones begin first, so that all workers end at about one time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

LONG = (
    "test_profile_cost",
    "test_run_tune",
    "test_book",
    "test_page_cache",
    "test_current_folder",
    "test_run_interrupted",
    "test_sudo",
    "test_programs",
    "test_launcher",
    "test_run_disk",
    "test_determinism",
    "test_burst_sum",
    "test_lower_bounds",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of long files to the front."""
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))
