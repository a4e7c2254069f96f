// Typed access to the elements that index.html names, and writes that leave an unchanged node alone.

/** The element with this id. Throws where index.html and the code disagree, which is an error of ours. */
export function find<T extends Element>(id: string, type: new () => T): T {
  const node = document.getElementById(id);
  if (!(node instanceof type)) {
    throw new Error(`index.html has no ${type.name} with the id "${id}"`);
  }
  return node;
}

/** Sets the text, unless it is there already: a live region speaks only when something changed. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** A new element with a class and a text. */
export function create<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  text = "",
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (className !== "") {
    node.className = className;
  }
  node.textContent = text;
  return node;
}
