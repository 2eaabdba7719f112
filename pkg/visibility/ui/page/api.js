// SPDX-License-Identifier: Apache-2.0

// The API is one level above the page, wherever both are served: by the scheduler, by the API server, or by kubectl proxy.
const base = new URL('../', document.baseURI);
const storedToken = 'devicequota-token';

/** Unauthorized says that the scheduler does not know the user. */
export class Unauthorized extends Error {}

/** Forbidden says that the user may not see what was asked for. */
export class Forbidden extends Error {}

// A token in the fragment of the address is never sent to a server, and does not stay in the address.
const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has('token')) {
  sessionStorage.setItem(storedToken, fragment.get('token'));
  history.replaceState(null, '', location.pathname + location.search + '#queues');
}

export function useToken(token) {
  sessionStorage.setItem(storedToken, token);
}

function headers() {
  const token = sessionStorage.getItem(storedToken);
  return token ? {Authorization: `Bearer ${token}`} : {};
}

async function request(path, options = {}) {
  const response = await fetch(new URL(path, base), {headers: headers(), credentials: 'same-origin', ...options});
  if (response.status === 401) {
    throw new Unauthorized();
  }
  if (!response.ok) {
    let message = `${response.status} ${response.statusText}`;
    try {
      message = (await response.json()).message || message;
    } catch {
      // The answer is no Status object: the code must do.
    }
    throw response.status === 403 ? new Forbidden(message) : new Error(message);
  }
  return response;
}

export async function get(path) {
  return (await request(path)).json();
}

/**
 * Reads a list again. If its items have not changed, they are the very same object as before. Only what comes before them tells of the
 * session, and is short.
 */
async function list(path, before) {
  const text = (await request(path)).text();
  const [head, items] = split(await text);
  return {...JSON.parse(`${head}}`), text: items, items: items === before?.text ? before.items : JSON.parse(items)};
}

// What the user may not see, by path, and since when. It is asked for again after some time: rights change.
export const refusals = new Map();
const retry = 30_000;

/** Reads a list again, or returns undefined if the user may not see it. */
export async function listIfAllowed(path, before) {
  if (Date.now() - refusals.get(path) < retry) {
    return undefined;
  }
  try {
    const answer = await list(path, before);
    refusals.delete(path);
    return answer;
  } catch (error) {
    if (!(error instanceof Forbidden)) {
      throw error;
    }
    refusals.set(path, Date.now());
    return undefined;
  }
}

function split(text) {
  const mark = ',"items":'; // in a string, the quotes would be escaped
  const at = text.indexOf(mark);
  return [text.slice(0, at), text.slice(at + mark.length, text.lastIndexOf('}'))];
}

/** Calls told for each publication of the scheduler, until the connection ends. EventSource cannot send a token. API servers end requests that do not watch after a minute. */
export async function updates(told, signal) {
  const response = await request('updates?watch=true', {signal});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) {
      return;
    }
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('\n');
      if (data) {
        told(JSON.parse(data));
      }
    }
  }
}
