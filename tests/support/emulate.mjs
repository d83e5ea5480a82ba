// Runs emulate's Slack and Twilio on loopback: node emulate.mjs API-MODULE SEED-JSON. Ends when its input does.
import net from "node:net";
import { pathToFileURL } from "node:url";

const listening = [];
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  listening.push(new Promise((resolve) => this.once("listening", resolve)));
  return listen.call(this, { port, host: "127.0.0.1" }, ...rest.filter((each) => typeof each === "function"));
};

const freePort = () =>
  new Promise((resolve) => {
    const probe = net.createServer();
    probe.listen(0, () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const { createEmulator } = await import(pathToFileURL(process.argv[2]));
const seed = JSON.parse(process.argv[3]);
const urls = {};
for (const service of ["slack", "twilio"]) {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  await createEmulator({ service, port, baseUrl, seed });
  urls[service] = baseUrl;
}
await Promise.all(listening);
console.log(JSON.stringify(urls));
process.stdin.on("end", () => process.exit(0)).resume();
