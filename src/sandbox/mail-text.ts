// What a mail says: its subject and its text, with the encodings of the exchange undone. Mails of the gateway are plain text.

export type MailContent = { subject: string; body: string };

export function readMail(source: string): MailContent {
  const end = source.indexOf('\r\n\r\n');
  // A header may go on in the next line, which then begins with a space.
  const head = source.slice(0, end).replace(/\r\n[ \t]+/g, ' ');
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
  const body = source.slice(end + 4).replace(/\r\n$/, '');
  return { subject: decodeHeader(header('Subject')), body: decodeBody(body, header('Content-Transfer-Encoding')) };
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  const plain = encoding === 'quoted-printable' ? decodeQuotedPrintable(body.replace(/=\r\n/g, '')) : body;
  return plain.replaceAll('\r\n', '\n');
}

/** Parts of a header that are not ASCII: =?UTF-8?Q?caf=C3=A9?= or =?UTF-8?B?…?=. Neighbours belong together. */
function decodeHeader(text: string): string {
  return text
    .replace(/\?= +=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, value: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(value, 'base64').toString('utf8')
        : decodeQuotedPrintable(value.replaceAll('_', ' ')),
    );
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
