"""axe-core on a part of a page: what it finds, one line each, or nothing."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OURS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All that a theme can break."""


def violations(page: Page, *parts: str, colours_only: bool = False) -> list[str]:
    """Rules that are broken in these parts, each with the first elements that break it."""
    found = (
        Axe()
        .run(page, context={"include": [[part] for part in parts]}, options=COLOURS if colours_only else OURS)
        .response["violations"]
    )
    return [
        f"{each['id']}: {[node['html'][:160] + node.get('failureSummary', '')[:200] for node in each['nodes'][:3]]}"
        for each in found
    ]
