// Connecting an account at an operator, and changing its settings: a form made from the schema of the rail. What is stored is
// checked by the same function as the command checks it with, so the sentences are the same.

import type { FastifyReply } from 'fastify';
import { changeConnection, createConnection, routeConnection } from '../payments/connection-changes.ts';
import {
  type Connection,
  environmentsFor,
  firstValues,
  isSealedSetting,
  type OperatorEnvironment,
  type RailDefinition,
  type RailSetting,
  readConnectionDetails,
} from '../payments/connection-views.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { fieldOf, idOf, type MemberRequest, paramOf, queryOf } from './console-request.ts';
import { errorBox, type FormField, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { countryNames } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

/** One character more than a setting may have: a longer one is refused, never cut. */
const MAX_SETTING_CHARACTERS = 16_385;
const MAX_METHODS_CHARACTERS = 4_000;

export const connectionFormRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails/new', newPage, { confirm: true }),
  forAdmin('POST', '/admin/rails', create, { confirm: true, secrets: true, largeForm: true }),
  forAdmin('GET', '/admin/rails/:name/settings', (request) => settingsPage(request), { confirm: true }),
  forAdmin('POST', '/admin/rails/:name/settings', change, { confirm: true, secrets: true, largeForm: true }),
];

async function newPage(request: MemberRequest): Promise<FastifyReply> {
  const definition = request.ctx.rails.definitions.find(({ name }) => name === queryOf(request, 'rail', 40));
  if (!definition) return choicePage(request);
  const environment = environmentsFor(request.ctx, definition).find((each) => each === queryOf(request, 'environment'));
  if (environment === undefined) return choicePage(request);
  return formPage(request, definition, environment);
}

/** Every rail with the environments that this gateway can use. */
async function choicePage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  return renderPage(request, {
    title: t.connections.add,
    lead: t.connections.addLead,
    active: 'rails',
    body: html`
      ${ctx.rails.definitions.map((definition) => {
        const environments = environmentsFor(ctx, definition);
        return html`
          <section class="card">
            <h2>${definition.title}</h2>
            <p class="muted">${countryNames(request, definition.methods)}</p>
            <div class="pager">
            ${environments.map(
              (environment) => html`
                <a class="button button-secondary"
                  href="/console/admin/rails/new?rail=${definition.name}&environment=${environment}"
                  aria-label="${withColon(request, definition.title)} ${t.connections.environments[environment]}">
                  ${t.connections.environments[environment]}
                </a>
              `,
            )}
            </div>
          </section>
        `;
      })}
    `,
  });
}

function formPage(
  request: MemberRequest,
  definition: RailDefinition,
  environment: OperatorEnvironment,
  errors?: FieldErrors,
): Promise<FastifyReply> {
  const { t } = request;
  const { shown, sealed } = firstValues(definition, environment);
  const given = (name: string, first = '') => (errors ? fieldOf(request, name, MAX_SETTING_CHARACTERS) : first);
  const fields: FormField[] = [
    {
      name: 'name',
      label: t.connections.name,
      hint: t.connections.nameHint,
      value: given('name', definition.name),
      required: true,
      attributes: html`maxlength="32"`,
    },
    ...(environment === 'simulator'
      ? [{ name: 'base_url', label: t.connections.simulatorUrl, value: given('base_url', simulatorUrl(definition)) }]
      : []),
  ];
  return renderPage(request, {
    title: `${withColon(request, definition.title)} ${t.connections.environments[environment]}`,
    lead: t.connections.environmentMeaning[environment],
    active: 'rails',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      <div class="card">
        ${form(request, {
          action: '/admin/rails',
          hidden: { rail: definition.name, environment },
          errors,
          fields: [
            ...fields,
            ...settingFields(request, definition, { values: shown, sealed, isAgain: errors !== undefined }),
            ...commonFields(request, definition.methods, errors !== undefined, null),
            {
              type: 'checkbox',
              name: 'route',
              label: t.connections.useAtOnce,
              checked: errors === undefined || fieldOf(request, 'route') === 'yes',
            },
          ],
          submit: t.connections.create,
        })}
      </div>
    `,
  });
}

const simulatorUrl = ({ simulatorPort }: RailDefinition) =>
  simulatorPort === undefined ? '' : `http://127.0.0.1:${simulatorPort}`;

type Known = { values: Readonly<Record<string, string>>; sealed: readonly string[]; isAgain: boolean };

/** A field for each setting of the rail, in its order. Secrets are never shown again. */
function settingFields(request: MemberRequest, { settings }: RailDefinition, known: Known): (FormField | Html)[] {
  return settings.flatMap((setting) => {
    const isHidden = isSealedSetting(setting);
    const hasValue = isHidden && known.sealed.includes(setting.name);
    const typed = known.isAgain ? fieldOf(request, setting.name, MAX_SETTING_CHARACTERS) : '';
    const label = request.t.railLabels[setting.label] ?? setting.label;
    const help = request.t.railHints[setting.help] ?? setting.help;
    const field = {
      name: setting.name,
      label: setting.optional ? `${label} (${request.t.optional})` : label,
      hint: hasValue ? `${help} ${request.t.connections.keptIfEmpty}` : help,
      required: !setting.optional && !hasValue,
    };
    const value = isHidden ? '' : known.isAgain ? typed : (known.values[setting.name] ?? '');
    return controlOf(request, setting, field, value);
  });
}

type FieldStart = Pick<FormField, 'name' | 'label' | 'hint' | 'required'>;

function controlOf(
  { t }: MemberRequest,
  { kind, choices, optional }: RailSetting,
  field: FieldStart,
  value: string,
): (FormField | Html)[] {
  const none: [string, string][] = optional ? [['', '–']] : [];
  switch (kind) {
    case 'secret':
      return [{ ...field, type: 'password', attributes: html`autocomplete="off" spellcheck="false"` }];
    case 'pem':
      return [{ ...field, type: 'textarea', rows: 4, value }, pemFile(t.connections.fromFile(field.label), field.name)];
    case 'choice':
      return [
        {
          ...field,
          type: 'select',
          value,
          choices: [...none, ...(choices ?? []).map((each) => [each, each] as const)],
        },
      ];
    case 'yes_no':
      return [{ ...field, type: 'select', value, choices: [...none, ['yes', t.yes], ['no', t.no]] }];
    case 'list':
    case 'address_ranges':
      return [{ ...field, type: 'textarea', rows: 3, value: value.split(/[\s,]+/).join('\n') }];
    default:
      return [{ ...field, value, attributes: html`autocomplete="off"` }];
  }
}

/** The script puts the text of the chosen file into the field above it. */
function pemFile(label: string, name: string): Html {
  return html`
    <div class="field">
      <label for="file-${name}">${label}</label>
      <input id="file-${name}" type="file" accept=".pem,.cer,.crt,.key,text/plain" data-text="#f-${name}">
    </div>
  `;
}

/** What every connection has besides the settings of its rail. */
function commonFields(
  request: MemberRequest,
  methods: readonly string[],
  isAgain: boolean,
  known: Connection | null,
): FormField[] {
  const { t } = request;
  const policies = Object.entries(t.connections.matchedPolicies).map(([code, text]) => [code, text] as const);
  return [
    {
      type: 'textarea',
      name: 'methods',
      label: t.connections.methods,
      hint: t.connections.methodsHint,
      rows: 4,
      value: isAgain ? fieldOf(request, 'methods', MAX_METHODS_CHARACTERS) : methods.join('\n'),
      required: true,
    },
    ...(known
      ? []
      : [
          {
            name: 'holder',
            label: `${t.connections.holder} (${t.optional})`,
            hint: t.connections.holderHint,
            value: fieldOf(request, 'holder'),
          },
        ]),
    {
      type: 'select',
      name: 'matched_callbacks',
      label: t.connections.matched,
      hint: t.connections.matchedHint,
      value: isAgain ? fieldOf(request, 'matched_callbacks') : (known?.matchedCallbacks ?? 'apply'),
      choices: policies,
    },
  ];
}

async function create(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor } = request;
  const definition = ctx.rails.definitions.find(({ name }) => name === fieldOf(request, 'rail'));
  const environment =
    definition && environmentsFor(ctx, definition).find((each) => each === fieldOf(request, 'environment'));
  if (!definition || !environment) throw new Problem('not_found');
  const holder = fieldOf(request, 'holder');
  try {
    const { name } = await createConnection(ctx, actor, {
      rail: definition.name,
      name: fieldOf(request, 'name'),
      environment,
      baseUrl: fieldOf(request, 'base_url') || undefined,
      values: typedSettings(request, definition, true),
      methods: typedMethods(request),
      holderId: holder === '' ? null : idOf(holder),
      matchedCallbacks: fieldOf(request, 'matched_callbacks') || undefined,
    });
    if (fieldOf(request, 'route') === 'yes') await routeConnection(ctx, actor, name);
    return redirect(request, `/console/admin/rails/${name}`, 'connectionCreated');
  } catch (error) {
    return formPage(request, definition, environment, fieldErrorsOf(error));
  }
}

async function settingsPage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t } = request;
  const { connection, definition, title } = await readConnectionDetails(ctx, paramOf(request, 'name'));
  if (!definition || connection.removedAt) throw new Problem('not_found');
  const { name, settings, sealedNames } = connection;
  const isAgain = errors !== undefined;
  const address: FormField[] =
    connection.environment === 'simulator'
      ? [{ name: 'base_url', label: t.connections.simulatorUrl, value: connection.baseUrl ?? '', required: true }]
      : [];
  return renderPage(request, {
    title: t.connections.settingsOf(name),
    lead: `${title}, ${t.connections.environments[connection.environment]}. ${t.connections.settingsLead}`,
    active: 'rails',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      <div class="card">
        ${form(request, {
          action: `/admin/rails/${name}/settings`,
          errors,
          fields: [
            ...address,
            ...settingFields(request, definition, { values: settings, sealed: sealedNames, isAgain }),
            ...commonFields(request, connection.methods, isAgain, connection),
          ],
          submit: t.connections.save,
          beside: html`<a href="/console/admin/rails/${name}">${t.connections.back}</a>`,
        })}
      </div>
    `,
  });
}

async function change(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor } = request;
  const { connection, definition } = await readConnectionDetails(ctx, paramOf(request, 'name'));
  if (!definition) throw new Problem('not_found');
  const typed = typedSettings(request, definition, false);
  // Only what changed is written and named in the audit log.
  const values = Object.fromEntries(
    Object.entries(typed).filter(([name, value]) => value !== (connection.settings[name] ?? '')),
  );
  const methods = typedMethods(request);
  const baseUrl = fieldOf(request, 'base_url');
  const matched = fieldOf(request, 'matched_callbacks');
  try {
    await changeConnection(ctx, actor, connection.name, {
      values,
      ...(methods.join() === connection.methods.join() ? {} : { methods }),
      ...(baseUrl === '' || baseUrl === connection.baseUrl ? {} : { baseUrl }),
      ...(matched === '' || matched === connection.matchedCallbacks ? {} : { matchedCallbacks: matched }),
    });
    return redirect(request, `/console/admin/rails/${connection.name}`, 'saved');
  } catch (error) {
    return settingsPage(request, fieldErrorsOf(error));
  }
}

/** What was typed. An empty secret keeps its value; in a new connection every empty field has the value that it begins with. */
function typedSettings(request: MemberRequest, { settings }: RailDefinition, isNew: boolean): Record<string, string> {
  const values: Record<string, string> = {};
  for (const setting of settings) {
    const value = fieldOf(request, setting.name, MAX_SETTING_CHARACTERS);
    const list = setting.kind === 'list' || setting.kind === 'address_ranges';
    if (value !== '' || !(isNew || isSealedSetting(setting)))
      values[setting.name] = list ? value.split(/[\s,]+/).join(',') : value.replaceAll('\r\n', '\n');
  }
  return values;
}

const typedMethods = (request: MemberRequest) =>
  fieldOf(request, 'methods', MAX_METHODS_CHARACTERS)
    .split(/[\s,]+/)
    .filter(Boolean);

/** The errors to show beside their fields; any other error goes on. */
function fieldErrorsOf(error: unknown): FieldErrors {
  if (error instanceof Problem && error.details.errors) return error.details.errors;
  throw error;
}
