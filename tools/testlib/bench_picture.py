"""The table of tools/bench local as an SVG picture: per cell and path a bar, as long as the ratio to native."""
from xml.sax.saxutils import escape

COLOURS = {"passthrough": "#1b7837", "uring": "#5aae61", "remote": "#9970ab", "commit=close": "#5aae61",
           "nfs+localio": "#2166ac", "nfs": "#92c5de", "nfs3": "#2166ac", "nfs4.2": "#92c5de"}
COLUMNS = [["data"], ["opens", "names"]]  # two columns fit a screen
LEFT, WIDTH, BAR, GAP = 232, 250, 7, 6
COLUMN = LEFT + WIDTH + 48
TOP = 62
MOST = 1.2  # longer bars end at this ratio; their number says the true ratio


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{escape(words)}</text>'


def draw_cell(cell, shown, left, y):
    """The lines of a cell, and the y of the next cell."""
    bars = [path for path in shown if path in cell["ratio"]]
    lines = [text(left - 8, y + BAR * len(bars) / 2 + 4, cell["name"], 'text-anchor="end"')]
    for path in bars:
        ratio = cell["ratio"][path]
        length = max(min(ratio, MOST) / MOST * WIDTH, 1)
        lines.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR - 1}" fill="{COLOURS[path]}"/>')
        lines.append(text(left + length + 3, y + BAR - 1, f"{ratio:.2f}", 'font-size="7"'))
        y += BAR
    return lines, y + GAP


def draw_column(groups, result, shown, left):
    lines, y = [], TOP
    for group in groups:
        lines.append(text(left - 8, y + 2, group, 'text-anchor="end" font-weight="bold"'))
        y += 10
        for cell in (cell for cell in result["cells"] if cell["group"] == group):
            drawn, y = draw_cell(cell, shown, left, y)
            lines += drawn
        y += 8
    one = left + WIDTH / MOST
    lines.append(f'<line x1="{one:.1f}" y1="{TOP - 8}" x2="{one:.1f}" y2="{y}" stroke="#999" stroke-dasharray="3,3"/>')
    return lines, y


def draw_legend(shown):
    lines, x = [], LEFT
    for path in shown:
        lines.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{COLOURS[path]}"/>')
        lines.append(text(x + 14, 39, path))
        x += 40 + 7 * len(path)
    return lines


def draw(result, columns=COLUMNS):
    shown = [path for path in result["paths"] if path in COLOURS]
    lines, height = draw_legend(shown), 0
    for number, groups in enumerate(columns):
        drawn, y = draw_column(groups, result, shown, LEFT + number * COLUMN)
        lines += drawn
        height = max(height, y)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(columns) * COLUMN}" height="{height + 6}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(10, 18, "localiofs beside the server's own directory (1.00): longer is better. Hot: the same was done right "
             "before; cold: all caches were dropped."),
        text(10, 39, result["context"].partition(",")[0], 'font-size="9" fill="#555"'),
        *lines, "</svg>"]) + "\n"
