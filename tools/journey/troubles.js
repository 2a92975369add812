// What is wrong with how a page looks, as lists of sentences.
({
  name: (node) => `${node.tagName.toLowerCase()}.${node.getAttribute("class") ?? ""} ` +
    `"${node.textContent.trim().slice(0, 40)}"`,

  /** What is cut off or reaches beyond the page, of all that is shown and does not scroll. */
  cut() {
    const found = [];
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > wide) found.push("the page scrolls sideways");
    for (const node of document.querySelectorAll("main *, header *, footer *")) {
      const box = node.getBoundingClientRect();
      if (!node.checkVisibility() || box.width === 0) continue;
      if (node.closest(".scroll, .try-fields, [tabindex='0'], .unseen, .skip")) continue;
      if (node.closest("svg")) {
        if (node.tagName !== "text") continue;
        const frame = node.closest(".card, section, figure").getBoundingClientRect();
        const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1;
        if (!inside) found.push(`cut: ${this.name(node)}`);
        continue;
      }
      if (box.left < -1 || box.right > wide + 1) found.push(`beyond the page: ${this.name(node)}`);
      const hides = getComputedStyle(node).overflowX !== "visible";
      const control = ["INPUT", "SELECT"].includes(node.tagName);
      if (hides && !control && node.scrollWidth > node.clientWidth + 1) {
        found.push(`cut: ${this.name(node)}`);
      }
    }
    return found;
  },

  /** Labels of figures that lie over each other. */
  over() {
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
      const labels = [...svg.querySelectorAll("text")].filter(
        (text) => text.checkVisibility() && text.textContent.trim(),
      );
      const boxes = labels.map((label) => label.getBoundingClientRect());
      for (let i = 0; i < boxes.length; i += 1) {
        for (let j = i + 1; j < boxes.length; j += 1) {
          const [a, b] = [boxes[i], boxes[j]];
          const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (x > 1.5 && y > 4) {
            found.push(`over each other: ${this.name(labels[i])}, ${this.name(labels[j])}`);
          }
        }
      }
    }
    return found;
  },

  /** Controls that something which stays on the screen lies over when they have the focus. */
  covered() {
    const found = [];
    for (const field of document.querySelectorAll("main input, main select, main button, summary")) {
      if (!field.checkVisibility() || field.disabled) continue;
      field.focus();
      const box = field.getBoundingClientRect();
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (top && top !== field && !field.contains(top) && !top.contains(field)) {
        const name = field.id || field.textContent.trim();
        found.push(`covered: ${name} by ${top.className || top.tagName}`);
      }
    }
    return found;
  },

  all() {
    return [...new Set([...this.cut(), ...this.over(), ...this.covered()])];
  },
})
