// SPDX-License-Identifier: Apache-2.0
// A `berth up` of one's own, and a way to write into it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';

export async function up({ nodes = 10, apply = [], speed = 'real' } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-journey-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  const child = spawn(process.env.BERTH, ['up', '--nodes', String(nodes), '--ephemeral', '--port', '0', '--speed', speed, '--kubeconfig-out', kubeconfig, ...apply.flatMap((file) => ['--apply', file])], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (piece) => {
      said += piece;
      const found = /https?:\/\/\S+\/ui\/#token=\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.on('exit', (code) => reject(new Error(`berth up ended with ${code}:\n${said}`)));
  });
  const config = readFileSync(kubeconfig, 'utf8');
  const field = (name) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(config)[1], 'base64');
  const server = /server: (\S+)/.exec(config)[1];
  const identity = { ca: field('certificate-authority-data'), cert: field('client-certificate-data'), key: field('client-key-data') };
  /** To the API server, as its owner; a text is sent as the YAML that it is. */
  const api = (method, where, body) =>
    new Promise((resolve, reject) => {
      const call = request(server + where, { method, ...identity, headers: { 'content-type': typeof body === 'string' ? 'application/yaml' : method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json' } }, (reply) => {
        let text = '';
        reply.on('data', (piece) => { text += piece; });
        reply.on('end', () => (reply.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
      });
      call.on('error', reject);
      call.end(typeof body === 'string' || !body ? body : JSON.stringify(body));
    });
  const stop = () => new Promise((resolve) => {
    child.removeAllListeners('exit');
    child.on('exit', resolve);
    child.kill('SIGTERM');
  });
  /** It is there and says nothing, until it goes on. */
  const pause = () => child.kill('SIGSTOP');
  const goOn = () => child.kill('SIGCONT');
  return { url, api, kubeconfig, stop, pause, goOn };
}
