// server.js - the users service on Node, a process for each CPU: server.js STYLE HTTP_PORT REDIS_PORT. The styles are seed 004's:
//   http       Node's own server and callbacks
//   callbacks  Express and callbacks
//   promises   Express, and promises one behind the other
//   async      Express and async functions, which stand where the seed had fibers: the package fibers ends before Node 16
"use strict";
const cluster = require("node:cluster");
const { availableParallelism } = require("node:os");
const { promisify } = require("node:util");

const [style, httpPort, redisPort] = process.argv.slice(2);

function connect() {
  const client = require("redis").createClient({ host: "127.0.0.1", port: +redisPort });
  client.on("error", (failure) => {
    console.error("redis:", failure.message);
    process.exit(1);
  });
  return client;
}

function reply(out, id, error, name) {
  if (error !== null) return out.status(500).end();
  if (name === null) return out.status(404).end();
  out.json({ id, name });
}

const styles = {
  http(client) {
    require("node:http").createServer((request, out) => {
      const found = /^\/users\/([^/?]+)$/.exec(request.url);
      if (request.method !== "GET" || found === null) return out.writeHead(404).end();
      client.get("user:" + found[1], (error, name) => {
        if (error !== null) return out.writeHead(500).end();
        if (name === null) return out.writeHead(404).end();
        const body = JSON.stringify({ id: found[1], name });
        out.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }).end(body);
      });
    }).listen(+httpPort, "127.0.0.1");
  },
  callbacks: (client) => serve((request, out) => {
    const id = request.params.id;
    client.get("user:" + id, (error, name) => reply(out, id, error, name));
  }),
  promises(client) {
    const get = promisify(client.get).bind(client);
    serve((request, out) => {
      const id = request.params.id;
      get("user:" + id).then((name) => reply(out, id, null, name)).catch((error) => reply(out, id, error));
    });
  },
  async(client) {
    const get = promisify(client.get).bind(client);
    serve(async (request, out) => {
      const id = request.params.id;
      try {
        reply(out, id, null, await get("user:" + id));
      } catch (error) {
        reply(out, id, error);
      }
    });
  },
};

function serve(handler) {
  const app = require("express")();
  app.get("/users/:id", handler);
  app.listen(+httpPort, "127.0.0.1");
}

if (!(style in styles) || redisPort === undefined) {
  console.error("usage: server.js http|callbacks|promises|async HTTP_PORT REDIS_PORT");
  process.exit(2);
}
if (cluster.isPrimary) {
  for (let i = 0; i < availableParallelism(); i++) cluster.fork();
  cluster.on("exit", () => process.exit(1));
} else {
  styles[style](connect());
}
