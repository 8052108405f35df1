// SPDX-License-Identifier: Apache-2.0
// The page of a gateway that stands in front of a cluster, for somebody who may see one namespace.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { launch, page as open } from './browser.mjs';
import { up } from './cluster.mjs';
import { LONG } from './visit.mjs';

const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/team-a';
let cluster;
let gateway;
let url;
let token;
let browser;

/** A gateway of its own, and its address. */
function gatewayOf(kubeconfig) {
  gateway = spawn(process.env.BERTH, ['gateway', '--kubeconfig', kubeconfig, '--port', '0', '--log-level', 'warn'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let said = '';
    gateway.stdout.on('data', (piece) => {
      said += piece;
      const found = /In a browser: (\S+)#token=/.exec(said);
      if (found) resolve(found[1]);
    });
    gateway.on('exit', (code) => reject(new Error(`berth gateway ended with ${code}:\n${said}`)));
  });
}

before(async () => {
  cluster = await up({ nodes: 2 });
  const make = (where, body) => cluster.api('POST', where, body);
  const [node] = (await cluster.api('GET', '/api/v1/nodes')).items;
  await cluster.api('PATCH', `/api/v1/nodes/${node.metadata.name}`, { metadata: { labels: { 'berth.test/lab': '0' } } });
  await make('/api/v1/namespaces', { metadata: { name: 'team-a' } });
  await make('/api/v1/namespaces/team-a/serviceaccounts', { metadata: { name: 'researcher' } });
  const resources = ['testbeds', 'batchjobs', 'schedulings'];
  await make(`${RBAC}/roles`, { metadata: { name: 'look' }, rules: [{ apiGroups: ['batchjob.gcr.io'], resources, verbs: ['get', 'list', 'watch'] }] });
  await make(`${RBAC}/rolebindings`, {
    metadata: { name: 'look' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'look' },
    subjects: [{ kind: 'ServiceAccount', name: 'researcher', namespace: 'team-a' }],
  });
  for (const [namespace, name] of [['team-a', 'ours'], ['default', 'theirs']])
    await make(`/apis/batchjob.gcr.io/v1alpha1/namespaces/${namespace}/testbeds`, {
      apiVersion: 'batchjob.gcr.io/v1alpha1', kind: 'Testbed', metadata: { name, namespace },
      spec: { slotsPerNode: 1, nodeLabel: 'berth.test/lab', resourcesPerSlot: { cpu: '1', memory: '1Gi' } },
    });
  token = (await make('/api/v1/namespaces/team-a/serviceaccounts/researcher/token', { spec: {} })).status.token;
  url = await gatewayOf(cluster.kubeconfig);
  browser = await launch();
}, { timeout: 5 * LONG });
after(async () => {
  await browser?.close();
  gateway?.removeAllListeners('exit');
  gateway?.kill('SIGTERM');
  await cluster?.stop();
});

const testbed = (page, name) => page.getByRole('region', { name: `Testbed ${name}`, exact: true });

test('ESI-127: the testbeds of the one namespace, and what the other pages need', { timeout: 3 * LONG }, async () => {
  const { page, errors, close } = await open(browser);
  try {
    page.setDefaultTimeout(LONG);
    await page.goto(`${url}#token=${token}`);
    await testbed(page, 'ours').waitFor(); // the page that is shown first
    await page.locator('.slot.free').first().waitFor();
    assert.equal(await testbed(page, 'theirs').count(), 0);
    assert.equal(await page.getByRole('textbox', { name: 'Namespace' }).inputValue(), 'team-a');
    for (const name of ['Cluster', 'Decisions', 'Queue']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name: `${name} is not served here` }).waitFor();
    }
    await page.getByRole('link', { name: /^Testbeds/ }).click();
    await page.getByRole('textbox', { name: 'Namespace' }).fill('default');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('alert').getByText(/cannot watch resource .* in the namespace "default"/).waitFor();
    if (process.env.BERTH_SHOTS) await page.screenshot({ path: `${process.env.BERTH_SHOTS}/gateway-refused.png` });
    assert.deepEqual(errors.filter((one) => !/status of (403|404)/.test(one)), []);
  } finally {
    await close();
  }
});
