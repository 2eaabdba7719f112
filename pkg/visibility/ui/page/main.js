// SPDX-License-Identifier: Apache-2.0
import {hashOf, stateOf} from './address.js';
import {Forbidden, Unauthorized, listIfAllowed, refusals, updates, useToken} from './api.js';
import {keyOf, nameOf} from './amounts.js';
import {element, render} from './dom.js';
import {show} from './panel.js';
import {switchBy} from './theme.js';
import {tree} from './tree.js';
import * as views from './views.js';

const byId = (id) => document.getElementById(id);
const view = byId('view');

// What was read last, by resource. Views are drawn from it.
const known = {};

// A view shows the first of its needs. Without the others, which say more, it is drawn as well: its user may not see all.
const drawings = {
  queues: {needs: ['queues'], draw: () => [views.cluster(known.queues.cluster ?? [], shows), ...tree(known.queues.items, shows, state.dimension, (queue) => matches(queue.name), searched() !== '')]},
  waiting: {needs: ['workloads', 'queues'], ages: true, draw: () => views.waiting(known.workloads.items, matches, explain)},
  holders: {needs: ['holders', 'queues'], ages: true, draw: () => views.holders(known.holders.items, shows, matches)},
  elasticity: {needs: ['queues'], draw: () => views.elasticity(known.queues.items, shows, matches)},
  history: {needs: ['history', 'queues'], draw: () => views.lastHour(known.history, known.queues?.items ?? [], shows, matches)},
};

// What the address says is found and opened.
let state = stateOf(location.hash, Object.keys(drawings));

const searched = () => state.find.trim().toLowerCase();

const matches = (...names) => names.some((name) => name?.toLowerCase().includes(searched()));

function shows(dimension) {
  const wanted = state.dimension;
  return wanted === '*' || (wanted === '' ? dimension.kind !== 'Resource' : wanted === keyOf(dimension));
}

function offerDimensions() {
  const names = new Map([['*', 'everything']]);
  if (state.dimension && !names.has(state.dimension)) {
    names.set(state.dimension, state.dimension.replace(/^[^/]*\//, '')); // perhaps no queue has it any more
  }
  for (const queue of known.queues?.items ?? []) {
    for (const figures of queue.figures ?? []) {
      names.set(keyOf(figures), nameOf(figures));
    }
  }
  render(byId('dimension'), [element('option', {key: '', value: ''}, 'devices and cards'), ...[...names].map(([key, name]) => element('option', {key, value: key}, name))]);
  byId('dimension').value = state.dimension;
}

function draw() {
  const name = state.view;
  ask();
  for (const link of document.querySelectorAll('nav a')) {
    const {view: leads} = stateOf(link.hash, Object.keys(drawings));
    const [need] = drawings[leads].needs;
    link.setAttribute('href', hashOf({...state, view: leads, explain: ''}));
    link.hidden = leads !== name && !inNamespace(need) && refusals.has(need);
    if (leads === name) {
      link.setAttribute('aria-current', 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  if (known[drawings[name].needs[0]]) {
    render(view, [element('div', {key: name}, drawings[name].draw())]);
  } else if (asking) {
    render(view, []);
  } else {
    render(view, [element('p', {key: 'loading', class: 'empty'}, 'Loading…')]);
  }
}

// The sentence that asks for a namespace, or nothing.
let asking = '';

/** Asks for a namespace if the user may not see what the view needs without one. */
function ask() {
  const [need] = drawings[state.view].needs;
  const before = asking;
  asking = '';
  if (refusals.has(pathOf(need))) {
    asking = !inNamespace(need) ? `You may not see the ${need} of the cluster. Enter your namespace to see what waits in it, and who holds what.`
      : state.namespace ? `You may not see the ${need} of namespace ${state.namespace}. Enter one of yours.`
        : `You may not see the ${need} of all namespaces. Enter yours.`;
  }
  byId('namespace').parentElement.hidden = !asking && !inNamespace(need);
  byId('ask').hidden = !asking;
  if (asking !== before) {
    byId('ask').textContent = asking;
    if (asking) {
      byId('namespace').focus();
    }
  }
}

// The shortest time between two readings: sessions can be shorter.
const rest = 500;
let refreshing;
let again = false;

/** Reads what the view needs. Publications that come meanwhile are read afterwards, once. */
async function refresh() {
  if (refreshing) {
    again = true;
    return refreshing;
  }
  refreshing = (async () => {
    do {
      again = false;
      await read();
      await new Promise((resolve) => { setTimeout(resolve, rest); });
    } while (again);
  })();
  try {
    await refreshing;
  } catch (error) {
    refused(error);
  } finally {
    refreshing = undefined;
  }
}

async function read() {
  const {view: name, namespace} = state;
  const {needs, ages} = drawings[name];
  const before = needs.map((need) => known[need]);
  const answers = await Promise.all(needs.map((need, i) => listIfAllowed(pathOf(need), before[i])));
  if (name !== state.view || namespace !== state.namespace) {
    return; // what is shown now is read by itself
  }
  needs.forEach((need, i) => { known[need] = answers[i]; });
  const changed = answers.some((answer, i) => answer?.items !== before[i]?.items || JSON.stringify(answer?.cluster) !== JSON.stringify(before[i]?.cluster))
    || refusals.has(pathOf(needs[0])) !== Boolean(asking);
  if (changed) {
    offerDimensions();
  }
  if (changed || ages) {
    draw();
  }
  tell(answers.find((answer) => answer?.snapshot)?.snapshot);
  fail('');
}

const inNamespace = (need) => need === 'workloads' || need === 'holders';

// Who may see one namespace only has to name it.
const pathOf = (need) => {
  const {namespace} = state;
  return namespace && inNamespace(need) ? `namespaces/${encodeURIComponent(namespace)}/${need}` : need;
};

function tell(snapshot) {
  if (snapshot) {
    byId('time').textContent = `As of ${new Date(snapshot.time).toLocaleTimeString()}`;
  }
  say(snapshot?.incomplete ?? '');
}

// It is read out when it changes.
function say(status) {
  if (byId('status').textContent !== status) {
    byId('status').textContent = status;
  }
}

function fail(message) {
  byId('problem').textContent = message;
  byId('problem').hidden = !message;
}

function refused(error) {
  const unknownUser = error instanceof Unauthorized;
  byId('login').hidden = !unknownUser;
  fail(unknownUser ? '' : error.message);
  say(''); // the scheduler has answered, or the problem says why it has not
  if (!known[drawings[state.view].needs[0]]) {
    render(view, []);
  }
}

function explain(workload) {
  const [resource, name] = workload.name ? ['podgroups', workload.name] : [`${workload.owner.kind.toLowerCase()}s`, workload.owner.name];
  visit({explain: `${encodeURIComponent(workload.namespace)}/${resource}/${encodeURIComponent(name)}`});
}

/** Shows the explanation that the address names, or none. */
function showExplanation() {
  const {explain: subject} = state;
  return show(byId('explanation'), subject, () => subject === state.explain, () => visit({explain: ''})).catch(refused);
}

/** Goes where the address leads. Back leads to what was there before. */
function arrive() {
  const before = state;
  state = stateOf(location.hash, Object.keys(drawings));
  fill();
  if (before.namespace !== state.namespace) {
    delete known.workloads;
    delete known.holders;
  }
  draw();
  if (before.view !== state.view || before.namespace !== state.namespace) {
    read().catch(refused);
  }
  if (before.explain !== state.explain) {
    showExplanation();
  }
}

function fill() {
  byId('queue').value = state.find;
  byId('namespace').value = state.namespace;
  offerDimensions();
}

/** Changes what is found and opened. Typing replaces the address, so that Back does not go through letters. */
function visit(changes, replace = false) {
  const hash = hashOf({...state, ...changes});
  if (hash !== hashOf(state)) {
    history[replace ? 'replaceState' : 'pushState'](null, '', hash);
    arrive();
  }
}

const patience = [1, 2, 5, 10];

const seen = async () => {
  while (document.hidden) {
    await new Promise((resolve) => { document.addEventListener('visibilitychange', resolve, {once: true}); });
  }
};

/**
 * Follows the scheduler while somebody can see the page. When the connection ends, for example because another replica leads, it connects
 * again.
 */
async function follow() {
  for (let failures = 0; ; failures++) {
    await seen();
    const leave = new AbortController();
    const hide = () => document.hidden && leave.abort();
    document.addEventListener('visibilitychange', hide);
    try {
      await updates(() => {
        failures = 0;
        byId('login').hidden = true;
        refresh();
      }, leave.signal);
      say('Reconnecting…');
    } catch (error) {
      if (error instanceof Forbidden) {
        refresh(); // who may not follow the scheduler reads now and then
      } else if (!leave.signal.aborted) {
        refused(error);
      }
      if (error instanceof Unauthorized) {
        await new Promise((resolve) => { byId('login').addEventListener('submit', resolve, {once: true}); });
      }
    } finally {
      document.removeEventListener('visibilitychange', hide);
    }
    if (!leave.signal.aborted) {
      await new Promise((resolve) => { setTimeout(resolve, 1000 * patience[Math.min(failures, patience.length - 1)]); });
    }
  }
}

switchBy(byId('theme'));
byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(byId('token').value.trim());
  byId('token').value = '';
  byId('login').hidden = true;
  refusals.clear();
  refresh();
  showExplanation();
});
byId('queue').addEventListener('input', () => visit({find: byId('queue').value}, true));
byId('dimension').addEventListener('input', () => visit({dimension: byId('dimension').value}));
byId('namespace').addEventListener('change', () => {
  const {view: name} = state;
  visit({namespace: byId('namespace').value.trim(), view: inNamespace(drawings[name].needs[0]) ? name : 'waiting'});
});
byId('filters').addEventListener('submit', (event) => event.preventDefault());
addEventListener('hashchange', arrive);
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the fragment of the address is no place of the page
  view.focus();
});
document.addEventListener('redraw', draw);

fill();
draw();
showExplanation();
refresh();
follow();
