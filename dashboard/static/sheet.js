// Draws one sheet: blocks of text, tables and figures, from plain JSON made by dashboard/blocks.py.
// Every text reaches the page through textContent. Nothing here builds HTML from a string, and a link leads only to a page
// of this application (a relative path); tests/unit/test_dashboard_sinks.py keeps both true.

const SVG = "http://www.w3.org/2000/svg"
// each icon: strokes in a 16 x 16 box
const ICONS = {
  check: ["M3 8.5l3.2 3.2L13 5"],
  cross: ["M4 4l8 8", "M12 4l-8 8"],
  pause: ["M8 1.8a6.2 6.2 0 1 0 .01 0z", "M6.4 5.6v4.8", "M9.6 5.6v4.8"],
  question: ["M8 1.8a6.2 6.2 0 1 0 .01 0z", "M6 6.3a2 2 0 1 1 2.8 1.8c-.6.3-.8.6-.8 1.3", "M8 11.6v.2"],
  warning: ["M8 2.2l6.2 11.3H1.8z", "M8 6.4v3.4", "M8 11.6v.2"],
  note: ["M8 1.8a6.2 6.2 0 1 0 .01 0z", "M8 7.4v4", "M8 4.8v.2"],
  open: ["M3.4 8v.01", "M8 8v.01", "M12.6 8v.01"],
  lock: ["M3.5 7.2h9v6.3h-9z", "M5.4 7V5.2a2.6 2.6 0 0 1 5.2 0V7"],
  unlock: ["M3.5 7.2h9v6.3h-9z", "M5.4 7V4.9a2.6 2.6 0 0 1 5-1"],
  person: ["M8 7.6a2.6 2.6 0 1 0-.01 0z", "M3 14c.4-2.9 2.4-4.2 5-4.2s4.6 1.3 5 4.2"],
  grid: ["M2.8 2.8h10.4v10.4H2.8z", "M2.8 8h10.4", "M8 2.8v10.4"],
  refuse: ["M8 1.8a6.2 6.2 0 1 0 .01 0z", "M3.8 3.8l8.4 8.4"],
  pen: ["M3 13l.6-2.8 7-7 2.2 2.2-7 7z", "M9.4 4.4l2.2 2.2"],
  clock: ["M8 1.8a6.2 6.2 0 1 0 .01 0z", "M8 4.6V8l2.4 1.6"],
  stale: ["M13 8a5 5 0 1 1-1.6-3.7", "M13 2.4v2.8h-2.8"],
  broken: ["M4 1.8h5.2L12 4.6v9.6H4z", "M9 1.8v3h3", "M6.2 7.6l3.6 3.6", "M9.8 7.6l-3.6 3.6"],
  arrow: ["M3 8h9.4", "M8.8 4.4L12.4 8l-3.6 3.6"],
  copy: ["M5.6 5.6h7.2v7.2H5.6z", "M3.2 10.4V3.2h7.2"],
  sort: ["M5 6l3-3 3 3", "M5 10l3 3 3-3"],
  up: ["M4.4 9.6L8 6l3.6 3.6"],
  down: ["M4.4 6.4L8 10l3.6-3.6"],
}

const el = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined && text !== null) node.textContent = text
  return node
}

const svg = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

const icon = (name) => {
  const box = svg("svg", { viewBox: "0 0 16 16", class: "cs-icon", "aria-hidden": "true" })
  for (const d of ICONS[name] || []) box.appendChild(svg("path", { d }))
  return box
}

const tones = (span) => (span.c || []).map((name) => `cs-${name}`).join(" ")

const copyButton = (text, label) => {
  const button = el("button", "cs-copy")
  button.type = "button"
  button.title = `Copy ${label}`
  button.setAttribute("aria-label", `Copy ${label}`)
  button.appendChild(icon("copy"))
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text)
      button.replaceChildren(icon("check"))
    } catch {
      button.replaceChildren(icon("cross"))
    }
    setTimeout(() => button.replaceChildren(icon("copy")), 1200)
  }
  return button
}

const bar = (data) => {
  const track = el("span", `cs-bar ${data.inside ? "cs-inside" : "cs-outside"}`)
  track.setAttribute("role", "img")
  track.setAttribute("aria-label", data.label)
  track.title = data.label
  const fill = el("span", "cs-fill")
  fill.style.width = `${data.share * 50}%`
  track.appendChild(fill)
  track.appendChild(el("span", "cs-tick"))
  return track
}

const spark = (data) => {
  const width = 64, height = 16, points = data.points
  const box = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "cs-spark", role: "img", "aria-label": data.label })
  const hint = svg("title", {})
  hint.textContent = data.label
  box.appendChild(hint)
  const known = points.map((y, x) => [x, y]).filter(([, y]) => y !== null)
  const at = ([x, y]) => [points.length > 1 ? 2 + (x / (points.length - 1)) * (width - 4) : width / 2, height - 3 - y * (height - 6)]
  const path = known.map((p, i) => `${i ? "L" : "M"}${at(p).map((v) => v.toFixed(1)).join(" ")}`).join("")
  box.appendChild(svg("path", { d: path, class: "cs-sparkline" }))
  if (known.length) {
    const [cx, cy] = at(known[known.length - 1])
    box.appendChild(svg("circle", { cx, cy, r: 2, class: "cs-sparkdot" }))
  }
  return box
}

const link = (span, go) => {
  const a = el("a", `cs-link ${tones(span)}`, span.t)
  if (span.icon) a.prepend(icon(span.icon))
  if (span.title) a.title = span.title
  if (typeof span.href === "string" && /^[a-z-]*\?/.test(span.href)) a.setAttribute("href", span.href)
  a.onclick = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    go({ page: span.page, params: span.params })
  }
  return a
}

// a number and its percent sign stay on one line; an id is left to the letter
const together = (s) => ((s.c || []).includes("mono") ? s.t : String(s.t).replace(/(\d) %/g, "$1\u00a0%"))

const SPANS = {
  text: (s) => el("span", tones(s), together(s)),
  icon: (s) => icon(s.icon),
  badge: (s) => {
    const node = el("span", `cs-badge ${tones(s)}`)
    if (s.icon) node.appendChild(icon(s.icon))
    node.appendChild(el("span", "", s.t))
    return node
  },
  digest: (s) => {
    const node = el("span", "cs-digest")
    const code = el("code", "", s.t)
    code.title = s.full
    node.appendChild(code)
    node.appendChild(copyButton(s.full, s.label || "the whole digest"))
    return node
  },
  link,
  bar: (s) => bar(s),
  spark: (s) => spark(s),
  break: () => document.createElement("br"),
}

const spans = (parent, list, go) => {
  for (const span of list || []) parent.appendChild((SPANS[span.k] || SPANS.text)(span, go))
  return parent
}

const cellSort = (row, index) => row.cells[index].sort

const compare = (a, b) => {
  if (a === b) return 0
  if (a === null || a === undefined) return 1
  if (b === null || b === undefined) return -1
  return a < b ? -1 : 1
}

const table = (block, go, root) => {
  const wrap = el("div", block.tall ? "cs-scroll cs-tall" : "cs-scroll")
  const node = el("table", `cs-table ${(block.c || []).map((name) => `cs-${name}`).join(" ")}`)
  if (block.label) node.setAttribute("aria-label", block.label)
  const state = (root.sortState ||= {})
  const own = (state[block.id] ||= { column: null, down: false })
  const head = node.appendChild(el("thead")).appendChild(el("tr"))
  const body = node.appendChild(el("tbody"))
  const fill = () => {
    const rows = [...block.rows]
    if (own.column !== null) {
      rows.sort((a, b) => {
        const x = cellSort(a, own.column), y = cellSort(b, own.column)
        const order = compare(x, y)
        return own.down && x !== null && y !== null ? -order : order
      })
    }
    body.replaceChildren(...rows.flatMap((row) => {
      const tr = el("tr", tones(row))
      let index = -1
      row.cells.forEach((cell) => {
        index += 1
        const column = block.columns[index]
        const td = el(column.head ? "th" : "td", `cs-${column.align || "left"} ${tones(cell)}`)
        if (column.head) td.scope = "row"
        if (cell.across) {
          td.colSpan = 2
          index += 1
        }
        tr.appendChild(spans(td, cell.spans, go))
      })
      if (!row.detail.length) return [tr]
      tr.classList.add("cs-above")
      const below = el("tr", `cs-below ${tones(row)}`)
      const td = spans(el("td"), row.detail, go)
      td.colSpan = block.columns.length
      below.appendChild(td)
      return [tr, below]
    }))
    head.querySelectorAll("th").forEach((th, index) => {
      th.setAttribute("aria-sort", own.column !== index ? "none" : own.down ? "descending" : "ascending")
    })
  }
  block.columns.forEach((column, index) => {
    const th = el("th", `cs-${column.align || "left"}`)
    th.scope = "col"
    if (column.width) th.style.width = column.width
    if (column.sort) {
      const button = el("button", "cs-sort", column.label)
      button.type = "button"
      button.appendChild(icon("sort"))
      button.onclick = () => {
        own.down = own.column === index ? !own.down : Boolean(column.down)
        own.column = index
        fill()
      }
      th.appendChild(button)
    } else th.textContent = column.label
    if (column.under) spans(th.appendChild(el("div", "cs-under")), column.under, go)
    head.appendChild(th)
  })
  fill()
  wrap.appendChild(node)
  // a chosen row redraws the sheet: the list must not jump back to its top
  wrap.onscroll = () => { own.top = wrap.scrollTop }
  requestAnimationFrame(() => { wrap.scrollTop = own.top || 0 })
  return wrap
}

const foldable = (block) => {
  const box = el("div", "cs-text")
  const pre = el(block.c.includes("prose") ? "div" : "pre", tones(block))
  const marks = { added: "ins", removed: "del", shared: "mark" }
  const draw = (pieces) => pre.replaceChildren(...pieces.map((piece) => el(marks[piece.c] || "span", "", piece.t)))
  box.appendChild(pre)
  draw(block.pieces)
  if (!block.more) return box
  const closed = `Show all (${block.more.toLocaleString("en")} more characters)`
  const button = el("button", "cs-fold", closed)
  button.type = "button"
  let open = false
  button.onclick = () => {
    open = !open
    draw(open ? [...block.pieces, ...block.rest] : block.pieces)
    button.textContent = open ? "Show less" : closed
    button.setAttribute("aria-expanded", String(open))
  }
  button.setAttribute("aria-expanded", "false")
  box.appendChild(button)
  return box
}

const BLOCKS = {
  heading: (b, go) => spans(el(b.level, `cs-${b.level} ${tones(b)}`), b.spans, go),
  paragraph: (b, go) => spans(el("p", `cs-p ${tones(b)}`), b.spans, go),
  list: (b, go) => {
    const list = el("ul", "cs-list")
    for (const item of b.items) list.appendChild(spans(el("li"), item, go))
    return list
  },
  line: (b, go) => {
    const line = el("div", "cs-line")
    for (const group of b.groups) line.appendChild(spans(el("span", "cs-group"), group, go))
    return line
  },
  facts: (b, go) => {
    const list = el("dl", "cs-facts")
    for (const [label, value] of b.rows) {
      list.appendChild(spans(el("dt"), label, go))
      list.appendChild(spans(el("dd"), value, go))
    }
    return list
  },
  notice: (b, go) => {
    const box = el("div", `cs-notice ${tones(b)}`)
    box.setAttribute("role", b.urgent ? "alert" : "status")
    box.appendChild(icon(b.icon))
    const body = box.appendChild(el("div"))
    for (const line of b.lines) body.appendChild(spans(el("p", "cs-p"), line, go))
    return box
  },
  table,
  text: foldable,
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  let root = parentElement.querySelector(":scope > .cs-sheet")
  if (!root) {
    root = el("div", "cs-sheet")
    parentElement.appendChild(root)
  }
  const go = (target) => setTriggerValue("go", target)
  root.replaceChildren(...data.blocks.map((block) => BLOCKS[block.k](block, go, root)))
}
