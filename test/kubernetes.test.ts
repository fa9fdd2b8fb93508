// The manifests of deploy/kubernetes: each is what Kubernetes and CloudNativePG expect, as far as that can be seen without a cluster.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../scripts/tree.ts';

const FOLDER = join(ROOT, 'deploy/kubernetes');

type Labels = Record<string, string>;
type Reference = { name: string; key?: string };
type Probe = { httpGet: { path: string; port: string } };
type Container = {
  name: string;
  image: string;
  args?: string[];
  ports?: { name: string; containerPort: number }[];
  envFrom: { configMapRef?: Reference; secretRef?: Reference }[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: Reference } }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  resources: { requests: Labels; limits: Labels };
  securityContext: {
    allowPrivilegeEscalation: boolean;
    readOnlyRootFilesystem: boolean;
    capabilities: { drop: string[] };
  };
  volumeMounts: { name: string; mountPath: string }[];
};
type Pod = {
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: { runAsNonRoot: boolean; runAsUser: number; seccompProfile: { type: string } };
  volumes: { name: string; secret?: { secretName: string } }[];
  initContainers: Container[];
  containers: Container[];
};
type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Labels };
  data?: Labels;
  stringData?: Labels;
  spec: {
    selector: { matchLabels: Labels } & Labels;
    template: { metadata: { labels: Labels }; spec: Pod };
    ports: { targetPort: string }[];
    replicas: number;
    minAvailable: number;
    cluster: Reference;
  };
};

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const readManifests = (name: string) =>
  parseAllDocuments(readFileSync(join(FOLDER, name), 'utf8')).map((document) => document.toJS() as Manifest);
const kustomization = parse(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')) as {
  resources: string[];
  images: { name: string; newTag: string }[];
};
const manifests = kustomization.resources.flatMap(readManifests);
const secrets = readManifests('secrets.example.yaml');
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const deployments = ofKind('Deployment');
const containersOf = ({ spec }: Manifest) => [...spec.template.spec.initContainers, ...spec.template.spec.containers];

/** The versions of Kubernetes' interfaces that these kinds have. */
const INTERFACES: Record<string, string> = {
  Namespace: 'v1',
  ConfigMap: 'v1',
  Secret: 'v1',
  Service: 'v1',
  Deployment: 'apps/v1',
  PodDisruptionBudget: 'policy/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  Cluster: 'postgresql.cnpg.io/v1',
  ScheduledBackup: 'postgresql.cnpg.io/v1',
  ObjectStore: 'barmancloud.cnpg.io/v1',
};

describe('Kubernetes', () => {
  test('each manifest has a kind and an interface that go together, and a name of its own', () => {
    for (const { apiVersion, kind } of [...manifests, ...secrets]) assert.equal(INTERFACES[kind], apiVersion, kind);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length);
  });

  test('processes of both kinds run twice, and one of each always stays', () => {
    assert.deepEqual(
      deployments.map(({ spec }) => spec.template.spec.containers[0]?.env.find(({ name }) => name === 'ROLE')?.value),
      ['api', 'worker'],
    );
    for (const { metadata, spec } of deployments) {
      assert.ok(spec.replicas >= 2);
      assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels);
      const budget = ofKind('PodDisruptionBudget').find((each) => each.metadata.name === metadata.name);
      assert.deepEqual(budget?.spec.selector.matchLabels, spec.selector.matchLabels);
    }
  });

  test('requests go to the processes that answer them', () => {
    const [service] = ofKind('Service');
    const [api] = deployments;
    assert.deepEqual(service?.spec.selector, api?.spec.template.metadata.labels);
    const ports = api?.spec.template.spec.containers[0]?.ports ?? [];
    assert.deepEqual(
      service?.spec.ports.map(({ targetPort }) => targetPort),
      ports.map(({ name }) => name),
    );
    assert.deepEqual(
      ports.map(({ containerPort }) => String(containerPort)),
      [/^EXPOSE (\d+)$/m.exec(read('Dockerfile'))?.[1]],
    );
  });

  test('no container has rights or writes to its root, and each has what it mounts', () => {
    for (const deployment of deployments) {
      const pod = deployment.spec.template.spec;
      assert.equal(pod.automountServiceAccountToken, false);
      assert.equal(pod.securityContext.runAsNonRoot, true);
      assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault');
      for (const container of containersOf(deployment)) {
        assert.equal(container.image, 'simbi');
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        assert.ok(container.resources.limits.memory);
        const mounted = container.volumeMounts.map(({ name }) => name).sort();
        assert.deepEqual(mounted, pod.volumes.map(({ name }) => name).sort());
      }
    }
    assert.match(kustomization.images[0]?.newTag ?? '', /^\d+\.\d+\.\d+$/);
  });

  test('probes ask what the gateway answers', () => {
    const routes = read('src/platform/health-routes.ts');
    for (const { spec } of deployments)
      for (const { startupProbe, livenessProbe, readinessProbe } of spec.template.spec.containers) {
        // A process that lives is not restarted because its database is away.
        assert.equal(startupProbe?.httpGet.path, '/healthz');
        assert.equal(livenessProbe?.httpGet.path, '/healthz');
        assert.equal(readinessProbe?.httpGet.path, '/readyz');
        assert.ok(routes.includes("'/healthz'") && routes.includes("'/readyz'"));
      }
  });

  test('settings and secrets that are named exist', () => {
    const settings = new Set([...read('.env.example').matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name));
    const config = Object.keys(ofKind('ConfigMap')[0]?.data ?? {});
    const keysOf = (name: string) =>
      Object.keys(secrets.find(({ metadata }) => metadata.name === name)?.stringData ?? {});
    const containers = deployments.flatMap(containersOf);
    const named = containers.flatMap(({ env }) => env.map(({ name }) => name));
    for (const name of [...config, ...keysOf('simbi'), ...named]) assert.ok(settings.has(name), name);
    for (const { valueFrom } of containers.flatMap(({ env }) => env))
      if (valueFrom) assert.ok(keysOf(valueFrom.secretKeyRef.name).includes(valueFrom.secretKeyRef.key ?? ''));
  });

  test('the database is migrated by its owner before a process of a new version starts', () => {
    for (const { spec } of deployments) {
      const [migrate] = spec.template.spec.initContainers;
      assert.deepEqual(migrate?.args?.slice(-1), ['migrate']);
      assert.ok(migrate?.env.some(({ name }) => name === 'MIGRATION_DATABASE_URL'));
      for (const { env } of spec.template.spec.containers)
        assert.ok(
          !env.some(({ name }) => name === 'MIGRATION_DATABASE_URL'),
          'the service never has the rights of the owner',
        );
    }
  });

  test('kubectl puts them together', (t) => {
    try {
      execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    } catch {
      return t.skip('this machine has no kubectl');
    }
    const text = execFileSync('kubectl', ['kustomize', FOLDER], { encoding: 'utf8' });
    const made = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    assert.equal(made.length, manifests.length);
    assert.doesNotMatch(text, /image: simbi$/m);
  });
});

type DatabaseCluster = {
  instances: number;
  enableSuperuserAccess: boolean;
  postgresql: { synchronous: { method: string; number: number; dataDurability: string; failoverQuorum: boolean } };
  bootstrap: { initdb: { database: string; owner: string; secret: Reference } };
  plugins: { isWALArchiver: boolean; parameters: { barmanObjectName: string } }[];
  managed: {
    roles: { name: string; login: boolean; bypassrls?: boolean; inRoles?: string[]; passwordSecret?: Reference }[];
  };
};

describe('CloudNativePG', () => {
  const [manifest] = ofKind('Cluster');
  const cluster = manifest?.spec as unknown as DatabaseCluster;

  test('a change is acknowledged only when a second machine has it', () => {
    assert.equal(cluster.instances, 3);
    assert.deepEqual(cluster.postgresql.synchronous, {
      method: 'any',
      number: 1,
      dataDurability: 'required',
      failoverQuorum: true,
    });
    assert.equal(cluster.enableSuperuserAccess, false);
  });

  test('logins and roles are those of the guide, with secrets that exist', () => {
    const secretOf = (reference: Reference | undefined) =>
      secrets.find(({ metadata }) => metadata.name === reference?.name)?.stringData?.username;
    assert.equal(secretOf(cluster.bootstrap.initdb.secret), cluster.bootstrap.initdb.owner);
    const roles = Object.fromEntries(cluster.managed.roles.map(({ name, ...role }) => [name, role]));
    assert.deepEqual(Object.keys(roles), ['simbi_tenant', 'simbi_service', 'simbi_app']);
    assert.equal(roles.simbi_service?.bypassrls, true);
    assert.deepEqual(roles.simbi_service?.inRoles, ['simbi_tenant']);
    assert.deepEqual(roles.simbi_app?.inRoles, ['simbi_service']);
    assert.equal(secretOf(roles.simbi_app?.passwordSecret), 'simbi_app');
  });

  test('it is backed up every day, and the gateway checks its certificate', () => {
    assert.equal(ofKind('ScheduledBackup')[0]?.spec.cluster.name, manifest?.metadata.name);
    assert.equal(cluster.plugins[0]?.isWALArchiver, true);
    assert.equal(cluster.plugins[0]?.parameters.barmanObjectName, ofKind('ObjectStore')[0]?.metadata.name);
    const urls = secrets.flatMap(({ stringData = {} }) =>
      Object.entries(stringData).filter(([key]) => key.endsWith('_URL')),
    );
    assert.equal(urls.length, 2);
    for (const [, url] of urls) {
      assert.match(url, new RegExp(`@${manifest?.metadata.name}-rw:5432/${cluster.bootstrap.initdb.database}\\?`));
      assert.match(url, /sslmode=verify-full/);
    }
  });
});
