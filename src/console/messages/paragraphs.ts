// The text of a mail.

export const paragraphs = (...texts: string[]) => `${texts.join('\n\n')}\n`;
