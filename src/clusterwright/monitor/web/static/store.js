// What the cluster looks like now, kept true by the server's stream; views listen for what has changed.

export const store = {
  version: 0, cluster: "", taken: 0, sums: {}, nodes: [], alerts: [], teams: [], missing: [], trouble: "", jobs: 0,
  byName: new Map(), live: false, me: { name: "", role: "viewer", hands: false },
};
const given = location.hash.match(/^#token=([\w-]+)$/); // after a sign-in (entry.py)
if (given) {
  localStorage.setItem("wright-token", given[1]);
  history.replaceState(null, "", "/");
}
const token = () => localStorage.getItem("wright-token") ?? "";
// What stands where in a node's row (compact.py).
export const NODE = { name: 0, group: 1, leaf: 2, partition: 3, kind: 4, state: 5, jobs: 6, used: 7, gpus: 8, numbers: 9 };
export const MEASURES = ["use", "memory", "celsius", "watts"];
export const KINDS = ["idle", "part", "full", "draining", "drained", "down", "other"];

const hearers = new Set();

/** Calls back with the names of the parts that changed, until the returned function is called. */
export function hear(back) {
  hearers.add(back);
  return () => hearers.delete(back);
}

function tell(parts) {
  for (const back of hearers) back(parts);
}

/** Everything anew. */
export function whole(document) {
  Object.assign(store, document);
  store.byName = new Map(store.nodes.map((row) => [row[NODE.name], row]));
  tell(new Set([...Object.keys(document), "all"]));
}

/** What differs; of the nodes only those that do. */
export function change(document, version) {
  const { nodes, all, ...parts } = document;
  Object.assign(store, parts, { version });
  const named = new Set(Object.keys(parts));
  if (all) {
    whole({ ...parts, nodes, version });
    return;
  }
  if (nodes?.length) {
    for (const row of nodes) {
      store.nodes[store.nodes.indexOf(store.byName.get(row[NODE.name]))] = row;
      store.byName.set(row[NODE.name], row);
    }
    named.add("nodes");
    store.changed = nodes;
  }
  tell(named);
}

export function live(on) {
  store.live = on;
  tell(new Set(["live"]));
}

/** JSON of an address; null where there is nothing, an error where there is no answer. */
export async function ask(path) {
  const answer = await fetch(path, { headers: { "x-wright-token": token() } });
  if (answer.status === 401) location.assign("/sign-in");
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

/** A change, in the name of who is signed in; what the server says of it. */
export async function act(path, body = {}) {
  const answer = await fetch(path, {
    method: "POST", body: JSON.stringify(body),
    headers: { "content-type": "application/json", "x-wright-token": token() },
  });
  return answer.status === 204 ? { done: true } : answer.json();
}

/** The first picture, then its changes for as long as the page is open. */
export async function begin() {
  const [picture, me] = await Promise.all([ask("/api/picture"), ask("/api/me")]);
  store.me = me;
  whole(picture);
  follow();
}

let pause = 1000;

function follow() {
  const stream = new EventSource(`/api/stream?since=${store.version}&token=${token()}`);
  const heard = (work) => (event) => {
    pause = 1000;
    if (!store.live) live(true);
    work(JSON.parse(event.data), Number(event.lastEventId));
  };
  stream.onopen = () => live(true);
  stream.addEventListener("change", heard(change));
  stream.addEventListener("whole", heard((document) => whole(document)));
  stream.onerror = () => {
    live(false);
    if (stream.readyState !== EventSource.CLOSED) return; // it comes back by itself
    setTimeout(follow, pause);
    pause = Math.min(pause * 2, 30000);
  };
}
