// Small helpers for elements: made, filled, and changed only where they differ.
// Attributes stand in an object, children are texts and elements; absent ones are left out.

function element(tag, ...parts) {
  const made = document.createElement(tag);
  for (const part of parts.filter((each) => each !== null && each !== undefined)) {
    if (typeof part !== "object" || part instanceof Node) {
      made.append(part);
      continue;
    }
    for (const [name, value] of Object.entries(part)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
  }
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Copies, and says so on the button for a while.
async function copied(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C"; // files that were opened from a disk may have no clipboard
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

// Lets a button copy the text of an element; where there is no clipboard, the text is selected.
function copies(button, source) {
  button.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    await copied(source.textContent, button);
  });
  return button;
}

const copyButton = (source, label, what) =>
  copies(element("button", { type: "button", class: "plain", "aria-label": `${label} ${what}` }, label), source);

// Hands a file to the browser.
function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A box that scrolls, also by keyboard.
const scroll = (label, ...parts) => element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...parts);

// Lets the browser paint and take input before the next piece of work.
const breathe = () => (globalThis.scheduler?.yield ? scheduler.yield() : new Promise((done) => setTimeout(done, 0)));

export { breathe, element, scroll, setText, copies, copyButton, copied, save };
