// The style sheet of a report, for light and dark pages. Colours of runs differ in lightness, too, and have a contrast
// of at least 3:1 to the background.
#include "tandem/cli/report/page.h"

namespace tandem::cli {

const char* const kReportStyle = R"css(:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #ffffff; --raised: #f6f8fa; --text: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --accent: #0969da; --hit: 9 105 218; --miss: 219 88 0; --shadow: 0 4px 16px rgb(31 35 40 / .16);
  --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989; --c5: #7d5a00; --c6: #0b7285; --c7: #59636e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1117; --panel: #0d1117; --raised: #161b22; --text: #f0f6fc; --soft: #9da7b1; --line: #30363d;
    --accent: #58a6ff; --hit: 56 139 253; --miss: 240 120 50; --shadow: 0 4px 16px rgb(0 0 0 / .6);
    --c0: #58a6ff; --c1: #f0883e; --c2: #3fb950; --c3: #bc8cff; --c4: #f778ba; --c5: #d9b13b; --c6: #39c5cf; --c7: #9da7b1;
  }
  .matrix img { filter: invert(1); }
}
* { box-sizing: border-box; }
body {
  margin: 0; overflow-wrap: break-word; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 40px; }
h1 { margin: 0 0 4px; font-size: 28px; line-height: 1.25; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 0 0 14px; font-size: 19px; line-height: 1.3; font-weight: 600; overflow-wrap: anywhere; }
h3 { margin: 24px 0 8px; font-size: 15px; font-weight: 600; }
section { margin-top: 28px; padding-top: 24px; border-top: 1px solid var(--line); }
section:first-of-type { border-top: 0; padding-top: 0; margin-top: 18px; }
p { margin: 0 0 12px; }
.note, footer, small { color: var(--soft); }
.note { font-size: 14px; }
.scroll + .note { margin-top: 12px; }
footer { margin-top: 32px; padding-top: 16px; border-top: 1px solid var(--line); font-size: 13px; }
small { font-size: 12px; }
.swatch {
  display: inline-block; width: 12px; height: 12px; margin-right: 7px; border-radius: 3px; background: currentColor;
  vertical-align: -1px;
}
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }

.scroll {
  overflow-x: auto; max-width: 100%;
  /* Shadows at the edges beyond which there is more: the first two layers move with the content and cover them. */
  background:
    linear-gradient(to right, var(--ground) 40%, transparent) left / 36px 100% no-repeat local,
    linear-gradient(to left, var(--ground) 40%, transparent) right / 36px 100% no-repeat local,
    linear-gradient(to right, rgb(128 128 128 / .35), transparent) left / 12px 100% no-repeat scroll,
    linear-gradient(to left, rgb(128 128 128 / .35), transparent) right / 12px 100% no-repeat scroll;
}
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
table.wide { min-width: 60%; }
th, td { padding: 6px 16px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { color: var(--soft); font-size: 13px; white-space: nowrap; vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 140px; overflow-wrap: anywhere; }
th .run { display: inline-block; max-width: 300px; white-space: normal; overflow-wrap: anywhere; }
td { overflow-wrap: anywhere; min-width: 84px; }
.overview th, .overview td { white-space: nowrap; min-width: 0; }
.overview th .run { overflow-wrap: break-word; }
.nowrap { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
.none { color: var(--soft); }
.number small { display: block; }
details { margin: 10px 0; }
summary { cursor: pointer; color: var(--soft); padding: 2px 0; }
summary .run { color: var(--text); }
details[open] > summary { margin-bottom: 8px; }
section > details.whole { margin: 0; }
.whole > summary { color: var(--text); }
.whole > summary h2 { display: inline; }
.whole[open] > summary { margin-bottom: 14px; }

.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; margin-bottom: 14px; font-size: 14px; }
.legend label { display: inline-flex; align-items: center; cursor: pointer; max-width: 100%; overflow-wrap: anywhere; }
.legend input { margin: 0 7px 0 0; accent-color: var(--accent); }
.legend .swatch { flex: none; }
.legend .key { display: inline-flex; align-items: center; gap: 7px; color: var(--soft); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 18px; }
.panel {
  position: relative; margin: 0; padding: 14px 14px 8px; min-width: 0;
  border: 1px solid var(--line); border-radius: 8px; background: var(--panel);
}
.panel figcaption { display: flex; justify-content: space-between; align-items: center; font-weight: 600; margin-bottom: 6px; }
.panel figcaption span { min-width: 0; }
.panel button {
  flex: none; font: inherit; font-size: 12px; font-weight: 400; padding: 1px 9px; color: var(--soft); background: none; cursor: pointer;
  border: 1px solid var(--line); border-radius: 6px;
}
.panel button[aria-pressed="true"] { color: var(--ground); background: var(--accent); border-color: var(--accent); }
.panel svg { display: block; width: 100%; touch-action: pan-y; border-radius: 4px; }
svg text { font-size: 12px; fill: var(--soft); }
.key svg { width: 30px; display: block; }
.grid { stroke: var(--line); }
.base { stroke: var(--soft); }
.curve { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.curve.train { stroke-dasharray: 5 5; }
.curve.validation.beside { stroke-dasharray: 0.1 4.5; }
.curve.again { stroke-width: 1.1; }
.curve.within { stroke-dasharray: none; stroke-width: 1.2; opacity: .55; }
.swatch.again { background: none; border: 3px solid currentColor; }
.cursor { stroke: var(--soft); stroke-dasharray: 2 3; }
.dot { fill: currentColor; stroke: var(--panel); stroke-width: 1.5; }
.ring { fill: none; stroke: currentColor; stroke-width: 2; }
.dot.train { fill: var(--panel); stroke: currentColor; stroke-width: 2; }
.tooltip {
  position: absolute; z-index: 2; pointer-events: none; padding: 8px 11px; max-width: calc(100% - 16px);
  background: var(--raised); border: 1px solid var(--line); border-radius: 8px; box-shadow: var(--shadow); font-size: 13px;
}
.tooltip b { display: block; margin-bottom: 2px; font-weight: 600; }
.tooltip table { font-size: 13px; }
.tooltip td { padding: 1px 12px 1px 0; border: 0; min-width: 0; }
.tooltip td:last-child { padding-right: 0; }
.tooltip.dense td { padding-top: 0; padding-bottom: 0; font-size: 11px; line-height: 1.3; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

.confusion th, .confusion td { padding: 5px 6px; border: 1px solid var(--line); text-align: right; white-space: nowrap; }
.confusion tbody th { min-width: 0; max-width: 220px; overflow: hidden; text-overflow: ellipsis; text-align: right; position: sticky; left: 0; background: var(--ground); }
.confusion thead th { vertical-align: bottom; text-align: center; }
.confusion thead th:first-child { border: 0; }
.confusion thead span {
  display: inline-block; max-height: 220px; overflow: hidden; text-overflow: ellipsis;
  writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap;
}
.confusion td { min-width: 50px; }
.confusion .hit { background: rgb(var(--hit) / calc(var(--share) * .5)); }
.confusion .miss { background: rgb(var(--miss) / calc(var(--share) * .75)); }
.beside { display: flex; flex-wrap: wrap; gap: 24px 32px; align-items: flex-start; }
.part { max-width: 100%; min-width: 0; }
.part > .note { margin-bottom: 8px; font-size: 13px; }
.matrix { margin: 0; max-width: 420px; }
.matrix img { width: min(400px, 100%); height: auto; image-rendering: pixelated; border: 1px solid var(--line); }
.matrix figcaption { color: var(--soft); font-size: 13px; margin-top: 6px; }
.mistakes { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(124px, 1fr)); gap: 12px; }
.mistakes figure { margin: 0; padding: 12px 8px 8px; height: 100%; text-align: center; border: 1px solid var(--line); border-radius: 8px; }
.mistakes img { max-width: 96px; max-height: 96px; border-radius: 4px; }
.mistakes img.small { width: 84px; height: auto; image-rendering: pixelated; }
.mistakes figcaption { font-size: 13px; line-height: 1.4; margin-top: 6px; overflow-wrap: anywhere; }
@media (max-width: 560px) {
  main { padding: 18px 14px 28px; }
  /* A row of the overview becomes a list of its cells. */
  .overview thead { display: none; }
  .overview, .overview tbody { display: block; }
  .overview tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .overview th, .overview td { display: flex; justify-content: space-between; gap: 16px; padding: 2px 0; border: 0; white-space: normal; }
  .overview td::before { content: attr(data-name); color: var(--soft); flex: none; }
  .overview td { text-align: right; }
  .overview .none { display: none; }
  h1 { font-size: 23px; }
  .panel { padding: 10px 8px 6px; }
}
@media print { .panel, .mistakes figure { break-inside: avoid; } }
)css";

}  // namespace tandem::cli
