// Tells the server when the colours on the screen are not those that the charts were drawn for: a browser may change from
// light to dark while a page is open, and Streamlit does not run the page again for that. Draws nothing, reads no data.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const background = getComputedStyle(parentElement).getPropertyValue("--st-background-color").trim()
  if (!/^#[0-9a-f]{6}$/i.test(background)) return
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(background.slice(at, at + 2), 16))
  const shown = 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light"
  if (shown !== data.drawn_for) setTriggerValue("changed", shown)
}
