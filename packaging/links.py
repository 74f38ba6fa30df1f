#!/usr/bin/env python3
"""Report each broken link between the HTML files of a folder."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, page: Path) -> None:
        """Read the page."""
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the links and anchors of an element."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def main() -> int:
    """Check the folder in the first argument."""
    root = Path(sys.argv[1]).resolve()
    pages = {path: Links(path) for path in root.rglob("*.html")}
    broken = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#"):
                continue
            # The book's page for missing addresses uses absolute links.
            base = root if parts.path.startswith("/") else page.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve()
            has_anchor = not parts.fragment or target not in pages or parts.fragment in pages[target].anchors
            if not target.exists() or not has_anchor:
                broken.append(f"{page.relative_to(root)}: {link}")
    print(*broken, sep="\n", end="\n" if broken else "")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
