// SPDX-License-Identifier: Apache-2.0

// What is found and opened is in the fragment of the address: #VIEW?find=TEXT&dimension=KIND/NAME&namespace=NAME&explain=NAMESPACE/RESOURCE/NAME.
const fields = ['find', 'dimension', 'namespace', 'explain'];

// An explanation is asked for with these parts of a path as they are, so that they are no others: an address comes from anybody.
const explained = /^(?!\.|%2e)[^/?#\\]+\/(?:pods|podgroups|jobs)\/(?!\.|%2e)[^/?#\\]+$/i;

/** What an address says. A view that is not there is the first one. */
export function stateOf(hash, views) {
  const [view, ...rest] = hash.slice(1).split('?');
  const given = new URLSearchParams(rest.join('?'));
  const state = {view: views.includes(view) ? view : views[0]};
  for (const field of fields) {
    state[field] = given.get(field) ?? '';
  }
  state.explain = explained.test(state.explain) ? state.explain : '';
  return state;
}

export function hashOf(state) {
  const given = String(new URLSearchParams(fields.filter((field) => state[field]).map((field) => [field, state[field]])));
  return `#${state.view}${given && `?${given}`}`;
}
