// SPDX-License-Identifier: Apache-2.0
import {Unauthorized, get} from './api.js';
import {render} from './dom.js';
import * as views from './views.js';

// Where the focus was before the explanation was opened.
let left;

/** Shows the explanation of a subject in a panel, or closes the panel if there is no subject. An answer that is not wanted any more is not shown. */
export async function show(panel, subject, wanted, close) {
  if (!subject) {
    panel.hidden = true;
    render(panel, []);
    left?.focus();
    left = undefined;
    return;
  }
  left ??= document.activeElement;
  let content;
  try {
    content = views.explanation(await get(`namespaces/${subject}/explanation`), close);
  } catch (error) {
    if (error instanceof Unauthorized) {
      throw error;
    }
    content = views.unexplained(error.message, close);
  }
  if (!wanted()) {
    return;
  }
  render(panel, content);
  panel.hidden = false;
  panel.onkeydown = (event) => event.key === 'Escape' && close();
  document.getElementById('explanation-title').focus();
}
