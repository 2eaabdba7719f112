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

/** Workloads that wait, those with the same reason together. */
export function waiting(workloads, matches, explain) {
  const groups = new Map();
  for (const w of workloads.filter((one) => one.waits && matches(one.queue, one.namespace, one.owner?.name, one.name))) {
    const reason = reasonOf(w);
    const key = `group ${JSON.stringify([w.queue, reason])}`;
    if (!groups.has(key)) {
      groups.set(key, {key, queue: w.queue, reason, members: []});
    }
    groups.get(key).members.push(w);
  }
  const rows = [...groups.values()].flatMap(({key, queue, reason, members}) => [
    {key, heading: members.length === 1 ? `1 workload waits in queue ${queue}: ${coded(members[0].waits, members[0].waits.message)}`
      : `${members.length} workloads wait in queue ${queue}: ${reason}`},
    ...members.map((w) => ({key: w.uid, cells: () => [
      w.name || w.owner.name ? element('button', {type: 'button', onclick: () => explain(w)}, `${w.namespace}/${w.owner?.name ?? w.name}`) : `${w.namespace}/…`,
      w.queue, age(w.created), w.waits.pods ? String(w.waits.pods) : 'all', w.waits.requested ?? '', w.waits.wouldBe ?? '']}))]);
  return rows.length === 0 ? empty('Nothing waits.')
    : table('Workloads that wait, those with the same reason together', ['Workload', 'Queue', 'Age', 'Pods', 'Asked for', 'Would be'], rows);
}

// As in kubectl devicequota waiting -o wide, the reason leaves out the numbers of the workload if a quota refuses it.
function reasonOf({waits}) {
  return coded(waits, !waits.dimension ? waits.message
    : `no room for ${nameOf(waits.dimension)} in queue ${waits.queue}${waits.limit ? `, which may have ${waits.limit}` : ''}`);
}

const coded = (waits, text) => (waits.reason ? `${waits.reason}: ${text}` : text);

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
  // Who waits lends nothing: the room is only not taken yet.
  const lends = e.waiting > 0 || e.either > 0 ? `waits, has not taken ${text(-beyond)}` : `lends ${text(-beyond)}`;
  const balance = beyond > 0 ? `has borrowed ${text(beyond)}` : beyond < 0 ? lends : 'even';
  return [e.queue, text(e.allocated), text(e.deserved), balance, [e.waiting > 0 && text(e.waiting), e.either > 0 && `either: ${text(e.either)}`].filter(Boolean).join(', ')];
}

/** What queues had allocated in the last hour, with their limits of now. */
export function lastHour({items, times}, queues, shows, matches) {
  const shown = items.filter((s) => matches(s.queue) && shows(s));
  if (shown.length === 0) {
    return empty('There is no history yet: the scheduler keeps one value a minute.');
  }
  const limits = new Map(queues.flatMap((queue) => (queue.figures ?? []).map((figures) => [`${queue.name}/${keyOf(figures)}`, read(figures).limit])));
  return table('The last hour, one value a minute; a dashed line is the limit', ['Queue', 'Of', 'Now', 'Most', 'Limit', 'Course'], shown.map((s) => {
    const key = `${s.queue}/${keyOf(s)}`;
    return {key, cells: () => course(s, times, limits.get(key))};
  }));
}

function course(s, times, limit) {
  const known = s.values.filter((value) => value >= 0);
  const text = (number) => textOf(s, number);
  const [from, now, most] = [known[0] ?? 0, known.at(-1) ?? 0, Math.max(...known, 0)];
  const label = `from ${text(from)} to ${text(now)}, at most ${text(most)}${limit === undefined ? '' : `, limit ${text(limit)}`}`;
  const top = Math.max(most, limit ?? 0) || 1;
  // The label says the same to those who do not see the axes.
  const axis = (place, words) => element('span', {class: place, 'aria-hidden': 'true'}, words);
  return [s.queue, nameOf(s), text(now), text(most), limit === undefined ? '' : text(limit), element('div', {class: 'course'},
    axis('top', text(top)), axis('zero', '0'), spark(s.values, times, top, limit, label), axis('from', '-60 min'), axis('to', 'now'))];
}

const hour = 3600_000;

// A scheduler that has just started has no values of the whole hour: each is where its time is.
function spark(values, times, top, limit, label) {
  const height = (value) => (30 - (29 * value) / top).toFixed(2);
  const end = Date.parse(times?.at(-1));
  let path = '';
  values.forEach((value, i) => {
    const x = 100 - (100 * (end - Date.parse(times?.[i]))) / hour;
    if (value >= 0 && x >= 0) {
      path += `${path && values[i - 1] >= 0 ? 'L' : 'M'}${x.toFixed(2)} ${height(value)}`;
    }
  });
  return element('svg', {class: 'spark', viewBox: '0 0 100 31', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
    limit !== undefined && element('line', {class: 'limit', x1: 0, x2: 100, y1: height(limit), y2: height(limit)}), element('path', {d: path}));
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

const heading = (title, close) => element('div', {class: 'heading'}, element('h2', {id: 'explanation-title', tabindex: -1}, title),
  element('button', {type: 'button', class: 'close', onclick: close}, 'Close'));

/** Why there is no explanation, for example because what an address names has ended. */
export const unexplained = (message, close) => [heading('No explanation', close), element('p', {}, message)];

/** Why something waits. */
export function explanation(e, close) {
  const title = `${e.subject.kind} ${e.subject.namespace}/${e.subject.name}`;
  const list = (heading, entries) => (entries.length === 0 ? [] : [element('h2', {}, heading), element('ul', {}, entries.map((entry) => element('li', {}, entry)))]);
  const named = (h) => `${h.namespace}/${h.name || '…'} in queue ${h.queue}: ${amountsOf(h.charged) || amountsOf(h.shares)}${h.since ? `, for ${age(h.since)}` : ''}${h.borrows ? ', borrowed' : ''}`;
  return [
    heading(`${title}: ${e.state}`, close),
    element('p', {}, e.cause ? e.cause.message + (e.cause.reason ? ` (${e.cause.reason})` : '') : e.node ? `On node ${e.node}.` : ''),
    e.checks ? element('ul', {class: 'checks'}, e.checks.map((c) => element('li', {class: c.result}, `${signs[c.result]} ${c.name}${c.message ? `: ${c.message}` : ''}`))) : undefined,
    ...list('Pods', (e.pods ?? []).map((p) => `${p.count} × ${p.state}: ${p.cause.message}`)),
    ...list('Nodes', (e.nodes ?? []).map((n) => `${n.count} ${n.suitable ? 'suitable' : n.message}: ${(n.nodes ?? []).join(', ')}`)),
    ...list('Devices and cards', (e.supplies ?? []).map(supply)),
    ...list('Who holds what is missing', [...(e.holders ?? []).map(named), ...(e.moreHolders ? [`and ${e.moreHolders} more`] : [])]),
    ...list('Last eviction', e.lastEviction ? [`${age(e.lastEviction.time)} ago, pod ${e.lastEviction.pod}: ${e.lastEviction.message}`] : []),
    ...list('What would have to go', e.eviction ? [e.eviction.message, ...(e.eviction.victims ?? []).map(named)] : []),
  ].filter(Boolean);
}
