// Fields for the params of a job, drawn from the schema of its handler.

export interface Schema {
  type?: string;
  title?: string;
  format?: string;
  enum?: (string | number)[];
  anyOf?: Schema[];
  default?: unknown;
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  required?: string[];
}

/** What was typed into each field; a field that is empty is not sent. */
export type Texts = Record<string, string>;

export function Fields({ schema, texts, set }: { schema: Schema; texts: Texts; set: (texts: Texts) => void }) {
  const properties = Object.entries(schema.properties ?? {});
  if (!properties.length) return <p class="soft">It takes no params.</p>;
  return (
    <fieldset>
      <legend>Params</legend>
      {properties.map(([name, shape]) => (
        <label key={name}>
          <span><bdi>{name}</bdi> <span class="soft">{kind(resolved(shape, schema))}{schema.required?.includes(name) ? ", required" : ""}</span></span>
          <Field shape={resolved(shape, schema)} required={schema.required?.includes(name) ?? false} text={texts[name] ?? ""} set={(text) => set({ ...texts, [name]: text })} />
        </label>
      ))}
    </fieldset>
  );
}

interface FieldProps {
  shape: Schema;
  required: boolean;
  text: string;
  set: (text: string) => void;
}

function Field({ shape, required, text, set }: FieldProps) {
  const usual = shape.default === undefined || shape.default === null ? "" : written(shape.default);
  const choices = shape.enum?.map(String) ?? (shape.type === "boolean" ? ["true", "false"] : null);
  if (choices) {
    return (
      <select value={text} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">{required ? "choose" : usual || "not given"}</option>
        {choices.map((one) => <option key={one}>{one}</option>)}
      </select>
    );
  }
  if (isNumber(shape)) return <input type="number" step={shape.type === "integer" ? 1 : "any"} required={required} placeholder={usual} value={text} onInput={(event) => set(event.currentTarget.value)} />;
  if (shape.type === "string") return <input required={required} placeholder={usual} value={text} onInput={(event) => set(event.currentTarget.value)} />;
  return <textarea rows={2} required={required} placeholder={usual || "JSON"} value={text} onInput={(event) => set(event.currentTarget.value)} />;
}

/** The params as they are sent, or an Error that names the field. */
export function read(schema: Schema, texts: Texts): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(schema.properties ?? {})) {
    const shape = resolved(given, schema);
    const text = texts[name] ?? "";
    if (text === "") {
      if (schema.required?.includes(name) && shape.type !== "string") throw new Error(`Give ${name} a value.`);
      if (!schema.required?.includes(name)) continue;
    }
    params[name] = value(name, shape, text);
  }
  return params;
}

function value(name: string, shape: Schema, text: string): unknown {
  if (shape.enum) return shape.enum.find((one) => String(one) === text) ?? text;
  if (shape.type === "string") return text;
  if (shape.type === "boolean") return text === "true";
  if (isNumber(shape)) return Number(text);
  try {
    return JSON.parse(text);
  } catch {
    if (!shape.type) return text;
    throw new Error(`${name} must be JSON.`);
  }
}

const isNumber = (shape: Schema) => shape.type === "integer" || shape.type === "number";
const written = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
const kind = (shape: Schema) => (shape.enum ? "one of these" : shape.format ?? shape.type ?? shape.title ?? "any JSON");

/** A shape without references, and without the null that an optional one allows. */
function resolved(shape: Schema, whole: Schema): Schema {
  const named = shape.$ref ? whole.$defs?.[shape.$ref.replace("#/$defs/", "")] : undefined;
  const alternatives = shape.anyOf?.filter((one) => one.type !== "null") ?? [];
  if (alternatives.length === 1) return { ...resolved(alternatives[0]!, whole), default: shape.default };
  return named ? { ...named, default: shape.default } : shape;
}
