// SPDX-License-Identifier: Apache-2.0
// @stomp/stompjs against a gateway: connects, subscribes, hears of a change, leaves, and hears of what it missed.
//   node stompjs.cjs CACHE URL TOKEN plain|protocol|sockjs|split
// The token travels as the passcode, or with `protocol` among the sub-protocols, as a page would send it.
const [cache, url, token, how] = process.argv.slice(2);
const { Client } = require(cache + "/node_modules/@stomp/stompjs");
const WebSocket = require(cache + "/node_modules/ws");
const SockJS = require(cache + "/node_modules/sockjs-client");

const change = async (value) => {
  const reply = await fetch(url + "/external/jobs/", {
    method: "PUT",
    headers: { Authorization: "Bearer " + token, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "a", externalScheduler: { told: [{ value }] } }),
  });
  if (reply.status !== 200) throw new Error(`PUT answered ${reply.status}: ${await reply.text()}`);
};

// The job's controller writes its status too, so that a value can come more than once.
const value = (message) => (JSON.parse(message.body).resource.externalScheduler.told ?? [{}])[0].value;

// Resolves with the first frame of every value, once that of `last` is among them.
const session = (headers, last, then) =>
  new Promise((resolve, reject) => {
    const heard = [];
    const ws = url.replace("http", "ws") + "/scheduler";
    const bearer = "base64url.bearer.authorization.k8s.io." + Buffer.from(token).toString("base64url");
    const client = new Client({
      webSocketFactory: () =>
        how === "sockjs"
          ? new SockJS(url + "/scheduler", null, { transports: ["websocket"] })
          : new WebSocket(ws, ["v12.stomp", "v11.stomp", "v10.stomp"].concat(how === "protocol" ? [bearer] : [])),
      connectHeaders: how === "protocol" ? {} : { passcode: token },
      heartbeatOutgoing: 20000,
      heartbeatIncoming: 10000,
      splitLargeFrames: how === "split",
      maxWebSocketChunkSize: 16,
      reconnectDelay: 0,
      onStompError: (frame) => reject(new Error(frame.headers.message)),
      onWebSocketError: (error) => reject(new Error("socket: " + error.message)),
      onConnect: async () => {
        if (client.connectedVersion !== "1.2") return reject(new Error("version " + client.connectedVersion));
        client.watchForReceipt("ready", () => then().catch(reject));
        client.subscribe(
          "/topic/jobs/a",
          async (message) => {
            if (!heard.some((known) => value(known) === value(message))) heard.push(message);
            if (value(message) !== last) return;
            await client.deactivate();
            resolve(heard);
          },
          { ...headers, receipt: "ready" },
        );
      },
    });
    client.activate();
  });

const expect = (holds, what) => {
  if (!holds) throw new Error(what);
};

(async () => {
  const tag = how + process.pid;
  const first = (await session({}, tag + "1", () => change(tag + "1"))).at(-1);
  expect(JSON.parse(first.body).action === "MODIFIED" && value(first) === tag + "1", "the change: " + first.body);
  expect(/^\d+$/.test(first.headers.seq) && first.headers.seq === first.headers.resourceVersion, "seq");
  await change(tag + "2");
  await change(tag + "3");
  const missed = (await session({ cursor: first.headers.cursor }, tag + "3", async () => {})).map(value);
  expect(missed.filter((one) => one !== tag + "1").join() === `${tag}2,${tag}3`, "what was missed: " + missed.join());
  process.exit(0);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
setTimeout(() => {
  console.error("nothing for two minutes");
  process.exit(1);
}, 120000);
