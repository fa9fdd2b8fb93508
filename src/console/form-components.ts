// Forms of the console: a form with its fields and button, single-button forms, and forms for what cannot be undone.

import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { type ConsoleRequest, type RefusedForm, SHOWN_FOR } from './console-request.ts';

export type ButtonVariant = 'secondary' | 'danger' | 'link';

type FieldBase = {
  name: string;
  /** In the ids of the control, its hint and its error; else the name. */
  id?: string | undefined;
  label: string;
  hint?: string | undefined;
  required?: boolean | undefined;
  errors?: FieldErrors | undefined;
  /** Further attributes of the control. */
  attributes?: Html | undefined;
};
export type InputField = FieldBase & {
  type?: 'text' | 'email' | 'password' | 'url' | 'date' | 'color' | undefined;
  value?: string | undefined;
};
type TextAreaField = FieldBase & { type: 'textarea'; value?: string | undefined; rows?: number };
type SelectField = FieldBase & {
  type: 'select';
  value?: string | undefined;
  choices: readonly (readonly [value: string, label: string])[];
};
type CheckboxField = FieldBase & { type: 'checkbox'; checked: boolean };
/** One of several, each with a sentence that says what it does. */
type RadioField = FieldBase & {
  type: 'radio';
  value?: string | undefined;
  choices: readonly (readonly [value: string, label: string, meaning: string])[];
};
export type FormField = InputField | TextAreaField | SelectField | CheckboxField | RadioField;

type FormOptions = {
  /** Below /console. */
  action: string;
  /** `get` is for searches and filters: they change nothing and carry no token. */
  method?: 'get';
  className?: string;
  attributes?: Html;
  hidden?: Readonly<Record<string, string>>;
  /** Fields in order. Other markup may stand between them. */
  fields?: readonly (FormField | Html | false)[];
  /** Puts the fields side by side where there is room. */
  row?: boolean;
  /** Where a page has several forms with fields of one name: begins the ids of this form's fields. */
  idPrefix?: string;
  /** The errors of all fields; each field shows its own. */
  errors?: FieldErrors | undefined;
  submit: string;
  variant?: ButtonVariant;
  /** Stands beside the button. */
  beside?: Html;
};

/** A form from a list of fields. */
export function form(request: ConsoleRequest, options: FormOptions): Html {
  const { action, hidden, fields = [], row } = options;
  const named = fields.filter((each) => each && 'name' in each);
  const refused = named.length > 0 && isRefused(request, action) ? request.refused : null;
  if (refused) refused.isSaid = true;
  const errors = refused?.errors ?? options.errors;
  const idOf = (name: string) => (options.idPrefix === undefined ? name : `${options.idPrefix}-${name}`);
  const controls = fields.map((each) =>
    each && 'name' in each
      ? formField({ errors, id: idOf(each.name), ...(refused ? asTyped(request, each) : each) })
      : each,
  );
  const body = html`
    ${refused && refusalBox(request, refused, new Map(named.map(({ name }) => [name, idOf(name)])))}
    ${hiddenFields(hidden)}
    ${row ? html`<div class="field-row">${controls}</div>` : controls}
    ${submitButton(options.submit, options.variant)}
    ${options.beside && html` ${options.beside}`}
  `;
  const attributes = html`
    ${options.className && html` class="${options.className}"`}
    ${options.attributes && html` ${options.attributes}`}
  `;
  const isGet = options.method === 'get';
  return html`
    <form${!isGet && html` method="post"`} action="/console${action}"${attributes}>
      ${!isGet && ownFields(request)}
      ${body}
    </form>
  `;
}

/** Whether the page is shown again because this form was refused. What it is folded into is open then. */
export function isRefused({ refused }: ConsoleRequest, action: string): boolean {
  return refused?.action === action.split('?')[0];
}

/** The field with what was typed into it, except a password. */
function asTyped({ form: typed }: ConsoleRequest, each: FormField): FormField {
  if (each.type === 'password') return each;
  if (each.type === 'checkbox') return { ...each, checked: typed.has(each.name) };
  return { ...each, value: typed.get(each.name) ?? each.value };
}

/** For a page that does not have the refused form any more: what it is about was closed meanwhile. */
export function unsaidRefusal(request: ConsoleRequest): Html | false {
  const { refused } = request;
  return refused !== null && !refused.isSaid && refusalBox(request, refused, new Map());
}

/** Above the fields. What concerns none of them, such as a limit, is said here alone. */
function refusalBox(
  request: ConsoleRequest,
  { errors, sentence }: RefusedForm,
  ids: ReadonlyMap<string, string>,
): Html {
  const wrong = Object.entries(errors);
  const own = wrong.flatMap(([name, sentences]) => {
    const id = ids.get(name);
    return id === undefined ? [] : [[id, sentences] as const];
  });
  const other = wrong.filter(([name]) => !ids.has(name)).flatMap(([, sentences]) => sentences);
  return alertBox(other.join(' ') || (own.length > 0 ? request.t.pleaseCorrect : sentence), own, true);
}

/** A form around markup of the page's own. For a list of fields and a button use `form`. */
export function postForm(request: ConsoleRequest, action: string, body: Html, attributes?: Html): Html {
  return html`
    <form method="post" action="/console${action}"${attributes && html` ${attributes}`}>
      ${ownFields(request)}
      ${body}
    </form>
  `;
}

/** A button that sends a form of its own. */
export function postButton(
  request: ConsoleRequest,
  action: string,
  label: string,
  options: { variant?: ButtonVariant; hidden?: Readonly<Record<string, string>> } = {},
): Html {
  return form(request, { action, submit: label, ...options });
}

/** An action that cannot be undone: the button appears after its meaning was unfolded. */
export function dangerForm(
  request: ConsoleRequest,
  action: string,
  label: string,
  meaning: string,
  hidden: Readonly<Record<string, string>> = {},
): Html {
  return html`
    <details>
      <summary>${label}…</summary>
      <p>${meaning}</p>
      ${form(request, { action, hidden, submit: label, variant: 'danger' })}
    </details>
  `;
}

/** Every form that changes something carries the token of its session, and the holder that it was shown for. */
export function ownFields({ csrf, holder }: ConsoleRequest): Html {
  return html`
    <input type="hidden" name="csrf" value="${csrf}">
    ${holder && html`<input type="hidden" name="${SHOWN_FOR}" value="${String(holder.id)}">`}
  `;
}

function hiddenFields(fields: Readonly<Record<string, string>> = {}): Html[] {
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
}

function submitButton(label: string, variant: ButtonVariant | undefined): Html {
  return html`<button${variant && html` class="button-${variant}"`}>${label}</button>`;
}

/** A label, a hint, the control and its error. */
export function formField(field: FormField): Html {
  if (field.type === 'checkbox') return checkbox(field);
  if (field.type === 'radio') return radios(field);
  const { name, id = name, label, hint, errors } = field;
  const error = errors?.[name];
  return html`
    <div class="field">
      <label for="f-${id}">${label}</label>
      ${hint !== undefined && html`<span class="muted" id="h-${id}">${hint}</span>`}
      ${control(field)}
      ${error && html`<p class="field-error" id="e-${id}">${error.join(' ')}</p>`}
    </div>
  `;
}

function checkbox(field: CheckboxField): Html {
  const { name, id = name, label, checked, errors } = field;
  const error = errors?.[name];
  return html`
    <div class="field">
      <label>
        <input id="f-${id}" type="checkbox" name="${name}" value="yes"${checked && html` checked`}${controlAttributes(field)}>${label}
      </label>
      ${error && html`<p class="field-error" id="e-${id}">${error.join(' ')}</p>`}
    </div>
  `;
}

/** The group has the id that an error box links to. */
function radios({ name, id = name, label, choices, value, errors, required }: RadioField): Html {
  const error = errors?.[name];
  const radio = ([code, text, meaning]: RadioField['choices'][number]) => html`
    <label>
      <input type="radio" name="${name}" value="${code}"${required && html` required`}${code === value && html` checked`}>
      <span>${text}<span class="muted">${meaning}</span></span>
    </label>
  `;
  return html`
    <fieldset class="field radios" id="f-${id}" tabindex="-1"${error && html` aria-describedby="e-${id}"`}>
      <legend>${label}</legend>
      ${choices.map(radio)}
      ${error && html`<p class="field-error" id="e-${id}">${error.join(' ')}</p>`}
    </fieldset>
  `;
}

function control(field: Exclude<FormField, CheckboxField | RadioField>): Html {
  const { name, id = name, value = '' } = field;
  if (field.type === 'textarea')
    return html`
      <textarea id="f-${id}" name="${name}" rows="${field.rows ?? 8}" spellcheck="false"${controlAttributes(field)}>
        ${value !== '' && ['\n', value]}
      </textarea>
    `;
  if (field.type === 'select')
    return html`
      <select id="f-${id}" name="${name}"${controlAttributes(field)}>
        ${field.choices.map(
          ([code, text]) => html`<option value="${code}"${code === value && html` selected`}>${text}</option>`,
        )}
      </select>
    `;
  return html`
    <input id="f-${id}" name="${name}" type="${field.type ?? 'text'}" value="${value}"${controlAttributes(field)}>
  `;
}

function controlAttributes({ name, id = name, hint, errors, required, attributes }: FieldBase): Html {
  const error = errors?.[name];
  const descriptions = [hint !== undefined ? `h-${id}` : '', error ? `e-${id}` : ''].filter(Boolean).join(' ');
  return html`
    ${required && html` required`}
    ${descriptions !== '' && html` aria-describedby="${descriptions}"`}
    ${error && html` aria-invalid="true"`}
    ${attributes && html` ${attributes}`}
  `;
}

/** What is wrong with a form, above it, with a link to each field. The page opens there, however far down the form is. */
export function errorBox(request: ConsoleRequest, errors: FieldErrors | undefined, message?: string): Html | false {
  const wrong = Object.entries(errors ?? {});
  if (wrong.length === 0 && message === undefined) return false;
  return alertBox(message ?? request.t.pleaseCorrect, wrong, wrong.length > 0);
}

type Wrong = readonly (readonly [id: string, sentences: readonly string[]])[];

function alertBox(message: string, wrong: Wrong, isFocused: boolean): Html {
  return html`
    <div class="box error" role="alert"${isFocused && html` tabindex="-1" autofocus`}>
      <p>${message}</p>
      ${
        wrong.length > 0 &&
        html`<ul>${wrong.map(([id, sentences]) => html`<li><a href="#f-${id}">${sentences.join(' ')}</a></li>`)}</ul>`
      }
    </div>
  `;
}
