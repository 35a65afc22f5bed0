"""The table of tools/bench local as an SVG picture: for each cell a bar a path, as long as its ratio to native."""
from xml.sax.saxutils import escape

COLOURS = {"passthrough": "#1b7837", "uring": "#5aae61", "remote": "#9970ab", "nfs+localio": "#2166ac", "nfs": "#92c5de"}
LEFT, WIDTH, BAR, GAP = 330, 420, 9, 10
MOST = 1.2  # longer bars end here, and their number says how long they would be


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y:.0f}" {more}>{escape(words)}</text>'


def draw(result):
    shown = [path for path in result["paths"] if path in COLOURS]
    lines, y = [], 64
    for cell in result["cells"]:
        bars = [path for path in shown if path in cell["ratio"]]
        lines.append(text(LEFT - 8, y + BAR * len(bars) / 2 + 4, cell["name"], 'text-anchor="end"'))
        for path in bars:
            ratio = cell["ratio"][path]
            length = min(ratio, MOST) / MOST * WIDTH
            lines.append(f'<rect x="{LEFT}" y="{y}" width="{max(length, 1):.1f}" height="{BAR - 1}" fill="{COLOURS[path]}"/>')
            lines.append(text(LEFT + length + 4, y + BAR - 1, f"{ratio:.2f}", 'font-size="8"'))
            y += BAR
        y += GAP
    one = LEFT + WIDTH / MOST
    legend, x = [], LEFT
    for path in shown:
        legend.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{COLOURS[path]}"/>')
        legend.append(text(x + 14, 39, path))
        x += 40 + 7 * len(path)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{y + 10}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(10, 18, "localiofs beside the server's own directory (1.00): longer is better"),
        text(10, 39, result["context"].partition(",")[0], 'font-size="9" fill="#555"'),
        *legend, f'<line x1="{one:.1f}" y1="52" x2="{one:.1f}" y2="{y}" stroke="#999" stroke-dasharray="3,3"/>',
        *lines, "</svg>"]) + "\n"
