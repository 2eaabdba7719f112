// SPDX-License-Identifier: Apache-2.0

const suffixes = {
  '': 1, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** The number that a quantity of Kubernetes stands for; 0 if there is none. */
export function numberOf(quantity) {
  const match = /^([+-]?[0-9.]+)(?:e([+-]?[0-9]+))?([A-Za-z]*)$/.exec(quantity ?? '');
  return match ? Number(match[1]) * 10 ** Number(match[2] ?? 0) * (suffixes[match[3]] ?? NaN) : 0;
}

// What says what the amounts of a kind measure, as in pkg/ledger/kinds.go. The amounts of other kinds count things.
const measures = {Resource: 'name', DeviceCapacity: 'capacity'};

const isBytes = (d) => /^memory$|\/memory$|storage$|^hugepages-/.test(d[measures[d.kind]] ?? '');

/** An amount for people, as the messages of the scheduler have it. */
export function textOf(dimension, number) {
  if (isBytes(dimension)) {
    for (const [unit, size] of [['PiB', 2 ** 50], ['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
      if (Math.abs(number) >= size) {
        return trim(number / size) + unit;
      }
    }
  }
  return trim(number);
}

const trim = (number) => String(Math.round(number * 1000) / 1000);

export const nameOf = (d) => (d.capacity ? `${d.name}/${d.capacity}` : d.name);

export const keyOf = (d) => `${d.kind}/${nameOf(d)}`;

/** How long ago a time was, as kubectl says it. */
export function age(time, now = Date.now()) {
  if (!time) {
    return '';
  }
  let seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  const parts = [];
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]]) {
    if (seconds >= size && parts.length < 2) {
      parts.push(Math.floor(seconds / size) + unit);
      seconds %= size;
    }
  }
  return parts.join('') || '0s';
}
