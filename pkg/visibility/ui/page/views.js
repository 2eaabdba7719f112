// SPDX-License-Identifier: Apache-2.0
import {age, keyOf, nameOf, numberOf, textOf} from './amounts.js';
import {read} from './bars.js';
import {element} from './dom.js';
import {table} from './list.js';

const amountsOf = (amounts) => (amounts ?? []).map((a) => `${textOf(a, numberOf(a.amount))} ${nameOf(a)}`).join(', ');

/** What the cluster has. */
export function cluster(totals, shows) {
  const rows = totals.filter(shows).map((t) => ({key: keyOf(t), cells: () =>
    [nameOf(t), ...[t.used, t.total, t.free, t.largestFree].map((amount) => textOf(t, numberOf(amount)))]}));
  return rows.length === 0 ? '' : element('div', {key: 'cluster', class: 'cluster'},
    table('The cluster', ['', 'Used', 'Total', 'Free', 'Most free on one node'], rows));
}

/** Workloads that wait, with the reason. */
export function waiting(workloads, matches, explain) {
  const rows = workloads.filter((w) => w.waits && matches(w.queue, w.namespace, w.owner?.name, w.name)).map((w) => ({key: w.uid, cells: () => [
    w.name || w.owner.name ? element('button', {type: 'button', onclick: () => explain(w)}, `${w.namespace}/${w.owner?.name ?? w.name}`) : `${w.namespace}/…`,
    w.queue, age(w.created), w.waits.pods ? String(w.waits.pods) : 'all', w.waits.message,
  ]}));
  return rows.length === 0 ? empty('Nothing waits.') : table('Workloads that wait, the oldest first', ['Workload', 'Queue', 'Age', 'Pods', 'Why'], rows);
}

/** Who holds what, those that have held it longest first. */
export function holders(all, shows, matches) {
  const rows = all.filter((h) => matches(h.queue, h.namespace, h.name, h.node)).map((h) => [h, [...(h.charged ?? []), ...(h.shares ?? [])].filter(shows)])
    .filter(([, amounts]) => amounts.length > 0)
    .map(([h, amounts]) => ({key: `${h.kind}/${h.uid || `${h.namespace}/${h.name}`}`, cells: () =>
      [h.name ? `${h.namespace}/${h.name}` : h.namespace, h.queue, amountsOf(amounts), h.node ?? '', h.since ? age(h.since) : '', h.state]}));
  return rows.length === 0 ? empty('Nobody holds any of this.') : table('Holders, the longest first', ['Holder', 'Queue', 'Holds', 'Node', 'For', 'State'], rows);
}

/** Which queues have more than they deserve, and whose share it is. */
export function elasticity(queues, shows, matches) {
  const dimensions = new Map();
  for (const queue of queues.filter((q) => matches(q.name))) {
    for (const figures of (queue.figures ?? []).filter(shows)) {
      const f = read(figures);
      if (f.deserved !== undefined) {
        const key = keyOf(figures);
        if (!dimensions.has(key)) {
          dimensions.set(key, []);
        }
        dimensions.get(key).push({queue: queue.name, figures, ...f});
      }
    }
  }
  if (dimensions.size === 0) {
    return empty('No queue deserves anything of this.');
  }
  return [element('p', {key: 'what', class: 'legend'}, 'What queues have beyond what they deserve, and what they have not taken of it.'),
    ...[...dimensions].flatMap(([key, entries]) => table(nameOf(entries[0].figures),
      ['Queue', 'Allocated', 'Deserved', 'Balance', 'Waits for'], entries.map((e) => ({key: `${key}/${e.queue}`, cells: () => balance(e)}))))];
}

function balance(e) {
  const beyond = e.allocated - e.deserved;
  const text = (number) => textOf(e.figures, number);
  const balance = beyond > 0 ? `has borrowed ${text(beyond)}` : beyond < 0 ? `lends ${text(-beyond)}` : 'even';
  return [e.queue, text(e.allocated), text(e.deserved), balance, e.waiting > 0 ? text(e.waiting) : ''];
}

/** What queues had allocated in the last hour. */
export function lastHour(series, shows, matches) {
  const shown = series.filter((s) => matches(s.queue) && shows(s));
  if (shown.length === 0) {
    return empty('There is no history yet: the scheduler keeps one value a minute.');
  }
  return table('The last hour, one value a minute', ['Queue', 'Of', 'Now', 'Most', 'Course'], shown.map((s) => ({key: `${s.queue}/${keyOf(s)}`, cells: () => {
    const known = s.values.filter((value) => value >= 0);
    const text = (number) => textOf(s, number);
    const most = Math.max(...known, 0);
    return [s.queue, nameOf(s), text(known.at(-1) ?? 0), text(most), spark(s.values, `from ${text(known[0] ?? 0)} to ${text(known.at(-1) ?? 0)}, at most ${text(most)}`)];
  }})));
}

function spark(values, label) {
  const most = Math.max(...values, 1);
  const step = values.length > 1 ? 100 / (values.length - 1) : 100;
  let path = '';
  values.forEach((value, i) => {
    if (value >= 0) {
      path += `${path && values[i - 1] >= 0 ? 'L' : 'M'}${(i * step).toFixed(2)} ${(30 - (28 * value) / most).toFixed(2)}`;
    }
  });
  return element('svg', {class: 'spark', viewBox: '0 0 100 31', preserveAspectRatio: 'none', role: 'img', 'aria-label': label}, element('path', {d: path}));
}

const empty = (text) => [element('p', {class: 'empty'}, text)];

const signs = {Passed: '✓', Failed: '✗', NotReached: '–'};

// Where the devices of a class, or the cards of a model, are that something asks for.
function supply(s) {
  const asked = s.asked > 0 ? `; a pod asks for ${s.asked}, and ${s.nodesWithEnough ?? 0} of ${s.nodes ?? 0} nodes have as many free` : '';
  const places = (s.places ?? []).map((p) => element('li', {},
    `${p.pool ? `pool ${p.pool}` : p.node}: ${p.free} of ${p.total} free${p.shared > 0 ? `, ${p.shared} shared` : ''}${p.tainted > 0 ? `, ${p.tainted} tainted` : ''}`));
  const more = s.morePlaces > 0 ? [element('li', {}, `and ${s.morePlaces} more`)] : [];
  return [`${nameOf(s)}: ${s.free} of ${s.total} free${asked}`, places.length > 0 && element('ul', {}, places, more)];
}

/** Why something waits. */
export function explanation(e, close) {
  const title = `${e.subject.kind} ${e.subject.namespace}/${e.subject.name}`;
  const list = (heading, entries) => (entries.length === 0 ? [] : [element('h2', {}, heading), element('ul', {}, entries.map((entry) => element('li', {}, entry)))]);
  const named = (h) => `${h.namespace}/${h.name || '…'} in queue ${h.queue}: ${amountsOf(h.charged) || amountsOf(h.shares)}${h.since ? `, for ${age(h.since)}` : ''}${h.borrows ? ', borrowed' : ''}`;
  return [
    element('button', {type: 'button', class: 'close', onclick: close}, 'Close'),
    element('h2', {id: 'explanation-title', tabindex: -1}, `${title}: ${e.state}`),
    element('p', {}, e.cause ? e.cause.message : e.node ? `On node ${e.node}.` : ''),
    e.checks ? element('ul', {class: 'checks'}, e.checks.map((c) => element('li', {class: c.result}, `${signs[c.result]} ${c.name}${c.message ? `: ${c.message}` : ''}`))) : undefined,
    ...list('Pods', (e.pods ?? []).map((p) => `${p.count} × ${p.state}: ${p.cause.message}`)),
    ...list('Nodes', (e.nodes ?? []).map((n) => `${n.count} ${n.suitable ? 'suitable' : n.message}: ${(n.nodes ?? []).join(', ')}`)),
    ...list('Devices and cards', (e.supplies ?? []).map(supply)),
    ...list('Who holds what is missing', [...(e.holders ?? []).map(named), ...(e.moreHolders ? [`and ${e.moreHolders} more`] : [])]),
    ...list('Last eviction', e.lastEviction ? [`${age(e.lastEviction.time)} ago, pod ${e.lastEviction.pod}: ${e.lastEviction.message}`] : []),
    ...list('What would have to go', e.eviction ? [e.eviction.message, ...(e.eviction.victims ?? []).map(named)] : []),
  ].filter(Boolean);
}
