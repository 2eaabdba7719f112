// SPDX-License-Identifier: Apache-2.0

const svgNames = new Set(['svg', 'rect', 'line', 'path']);

/**
 * Describes an element, which render draws. Children that are no elements become text, never markup. A key, which is unique among siblings,
 * says that elements of two drawings are the same.
 */
export function element(name, {key, ...attributes} = {}, ...children) {
  const there = children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== '');
  return {name, key, attributes, children: there.map((child) => (typeof child === 'object' ? child : String(child)))};
}

// The description that a node was drawn from.
const drawn = new WeakMap();

/**
 * Draws children of a node. What is there is changed and not replaced, so that focus, selection, and scroll position stay. What has the
 * very same description as before is not looked at.
 */
export function render(parent, children) {
  const focused = document.activeElement;
  update(parent, children);
  if (focused !== document.activeElement && focused?.isConnected) {
    focused.focus({preventScroll: true}); // it was moved among its siblings
  }
}

function update(parent, children) {
  const keyed = new Map();
  const others = [];
  for (const node of parent.childNodes) {
    const key = drawn.get(node)?.key;
    if (key === undefined) {
      others.push(node);
    } else {
      keyed.set(key, node);
    }
  }
  let at = 0;
  const nodes = children.map((child) => {
    let node = child.key === undefined ? others[at] : keyed.get(child.key);
    if (!node || !suits(node, child)) {
      node = make(child);
    } else if (child.key === undefined) {
      at++;
    }
    change(node, child);
    return node;
  });
  const kept = new Set(nodes);
  for (const node of [...parent.childNodes]) {
    if (!kept.has(node)) {
      node.remove();
    }
  }
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) {
      next = next.nextSibling;
    } else {
      parent.insertBefore(node, next);
    }
  }
}

const suits = (node, child) => (typeof child === 'string' ? node.nodeType === Node.TEXT_NODE : drawn.get(node)?.name === child.name);

function make(child) {
  if (typeof child === 'string') {
    return document.createTextNode(child);
  }
  return svgNames.has(child.name) ? document.createElementNS('http://www.w3.org/2000/svg', child.name) : document.createElement(child.name);
}

function change(node, child) {
  if (typeof child === 'string') {
    if (node.data !== child) {
      node.data = child;
    }
    return;
  }
  const before = drawn.get(node);
  if (before === child) {
    return;
  }
  const had = before?.attributes ?? {};
  for (const name of Object.keys(had)) {
    if (!(name in child.attributes)) {
      set(node, name, undefined);
    }
  }
  for (const [name, value] of Object.entries(child.attributes)) {
    if (value !== had[name]) {
      set(node, name, value);
    }
  }
  drawn.set(node, child);
  update(node, child.children);
}

function set(node, name, value) {
  if (name.startsWith('on')) {
    node[name] = value ?? null;
  } else if (value === undefined || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? '' : value);
  }
}
