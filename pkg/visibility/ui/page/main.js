// SPDX-License-Identifier: Apache-2.0
import {Unauthorized, get, list, updates, useToken} from './api.js';
import {keyOf, nameOf} from './amounts.js';
import {element, render} from './dom.js';
import {tree} from './tree.js';
import * as views from './views.js';

const byId = (id) => document.getElementById(id);
const view = byId('view');

// What was read last, by resource. Views are drawn from it.
const known = {};

const drawings = {
  queues: {needs: ['queues'], draw: () => [views.cluster(known.queues.cluster ?? [], shows), ...tree(known.queues.items, shows, byId('dimension').value, (queue) => matches(queue.name), searched() !== '')]},
  waiting: {needs: ['workloads', 'queues'], ages: true, draw: () => views.waiting(known.workloads.items, matches, explain)},
  holders: {needs: ['holders', 'queues'], ages: true, draw: () => views.holders(known.holders.items, shows, matches)},
  elasticity: {needs: ['queues'], draw: () => views.elasticity(known.queues.items, shows, matches)},
  history: {needs: ['history', 'queues'], draw: () => views.lastHour(known.history, known.queues.items, shows, matches)},
};

const chosen = () => (location.hash.slice(1) in drawings ? location.hash.slice(1) : 'queues');

const searched = () => byId('queue').value.trim().toLowerCase();

const matches = (...names) => names.some((name) => name?.toLowerCase().includes(searched()));

function shows(dimension) {
  const wanted = byId('dimension').value;
  return wanted === '*' || (wanted === '' ? dimension.kind !== 'Resource' : wanted === keyOf(dimension));
}

function offerDimensions() {
  const names = new Map([['*', 'everything']]);
  for (const queue of known.queues.items) {
    for (const figures of queue.figures ?? []) {
      names.set(keyOf(figures), nameOf(figures));
    }
  }
  render(byId('dimension'), [element('option', {key: '', value: ''}, 'devices and cards'), ...[...names].map(([key, name]) => element('option', {key, value: key}, name))]);
}

function draw() {
  const name = chosen();
  byId('namespace').parentElement.hidden = !drawings[name].needs.some(inNamespace);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${name}`) {
      link.setAttribute('aria-current', 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  if (drawings[name].needs.every((need) => known[need])) {
    render(view, [element('div', {key: name}, drawings[name].draw())]);
  } else {
    render(view, [element('p', {key: 'loading', class: 'empty'}, 'Loading…')]);
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
  const {needs, ages} = drawings[chosen()];
  const before = needs.map((need) => known[need]);
  const answers = await Promise.all(needs.map((need, i) => list(pathOf(need), before[i])));
  needs.forEach((need, i) => { known[need] = answers[i]; });
  const changed = answers.some((answer, i) => answer.items !== before[i]?.items || JSON.stringify(answer.cluster) !== JSON.stringify(before[i]?.cluster));
  if (changed) {
    offerDimensions();
  }
  if (changed || ages) {
    draw();
  }
  tell(known.queues.snapshot);
  fail('');
}

const inNamespace = (need) => need === 'workloads' || need === 'holders';

// Who may see one namespace only has to name it.
const pathOf = (need) => {
  const namespace = byId('namespace').value.trim();
  return namespace && inNamespace(need) ? `namespaces/${encodeURIComponent(namespace)}/${need}` : need;
};

function tell(snapshot) {
  byId('time').textContent = `As of ${new Date(snapshot.time).toLocaleTimeString()}`;
  // It is read out when it changes.
  const status = snapshot.incomplete ?? '';
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
  if (!drawings[chosen()].needs.every((need) => known[need])) {
    render(view, []);
  }
}

async function explain(workload) {
  const panel = byId('explanation');
  const before = document.activeElement;
  const close = () => {
    panel.hidden = true;
    render(panel, []);
    before?.focus();
  };
  try {
    const [kind, name] = workload.name ? ['podgroups', workload.name] : [`${workload.owner.kind.toLowerCase()}s`, workload.owner.name];
    const answer = await get(`namespaces/${encodeURIComponent(workload.namespace)}/${kind}/${encodeURIComponent(name)}/explanation`);
    render(panel, views.explanation(answer, close));
    panel.hidden = false;
    panel.onkeydown = (event) => event.key === 'Escape' && close();
    byId('explanation-title').focus();
  } catch (error) {
    refused(error);
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
      byId('status').textContent = 'Reconnecting…';
    } catch (error) {
      if (!leave.signal.aborted) {
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

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('devicequota-theme', theme);
}

byId('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  setTheme(dark ? 'light' : 'dark');
});
const theme = localStorage.getItem('devicequota-theme');
if (theme) {
  setTheme(theme);
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(byId('token').value.trim());
  byId('token').value = '';
  byId('login').hidden = true;
  refresh();
});
byId('filters').addEventListener('input', draw);
byId('namespace').addEventListener('change', () => {
  delete known.workloads;
  delete known.holders;
  draw();
  read().catch(refused);
});
byId('filters').addEventListener('submit', (event) => event.preventDefault());
addEventListener('hashchange', () => {
  draw();
  read().catch(refused);
});
document.addEventListener('redraw', draw);

refresh();
follow();
