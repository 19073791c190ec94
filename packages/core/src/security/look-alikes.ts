// Characters that look like a Latin letter, digit or mark and that Unicode does not decompose to one. The table follows
// Unicode's list of confusables where that list is about whole letters, and adds the letters that people use to imitate Latin.

/** Each pair: look-alikes, and the characters they stand for, in the same order. */
const PAIRS: readonly (readonly [string, string])[] = [
  // Cyrillic
  ["аьсԁеҽєԍһнӊңіӏјкҝӄмпиѝоөѻрԛгґяѕтцуүұѵԝшщѡхҳз", "abcdeeeghhhhiljkkkmnnnooopqrrrstuyyyvwwwwxx3"],
  ["АВСԀЕҼЄԌНӉҢІӀЈКҜӃМИОӨРԚЯЅТУҮҰѴԜШЩѠХҲЬЗ", "ABCDEEEGHHHIIJKKKMNOOPQRSTYYYVWWWWXXb3"],
  // Greek
  ["αβγεϵηικϰμνοσπρϱςτυχωϲϳ", "abyeenikkuvoonppstuxwcj"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿϜ", "ABEZHIKMNOPTYXCJF"],
  // Armenian
  ["գզհյոռսօցա", "qqhjnnuogw"],
  ["ՏՕՍԼ", "SOUL"],
  // Cherokee (its small letters follow below), Lisu, Coptic
  ["ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎾᏀᏃᏆᏏᏔᏙᏚᏞᏟᏢᏦᏧᏳᏴ", "DRTiYAJEWMHOGZIbWVSLCPKdGB"],
  ["ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPdDTGKJCZFMNLSRVHWXYAEIOU"],
  ["ⲟⲥⲣⲭⲓⲩⲕⲏⲧⲙⲛⲉⲁⲃ", "ocpxiykhtmneab"],
  ["ⲞⲤⲢⲬⲒⲨⲔⲎⲦⲘⲚⲈⲀⲂ", "OCPXIYKHTMNEAB"],
  // Latin letters of other alphabets, with strokes and hooks, and small capitals
  ["ıɩɪɨɑɐɡɢɠʏƴɏʀɾɽʟłɫɭɴŋɲɳʙɓƀʜħɦᴀᴄᴅđɗɖð", "iiiiaagggyyyrrrllllnnnnbbbhhhacddddd"],
  ["ᴇəɛꜰƒᴊȷɟᴋƙᴍɱᴏøɵᴘƥþꞯɋꜱƨʂᴛŧƭʈᴜʉᴠʋᴡᴢʐƶ", "eeeffjjjkkmmooopppqqsssttttuuvvwzzz"],
  ["ØƟĐƉƊÐŁĦŦƬƮɃƁƓƘƤƗɄŊƏƐƳƵ", "OODDDDLHTTTBBGKPIUNEEYZ"],
  // Letters of Insular writing, and letters turned round
  ["ᵹꞃꞅꞇꝺꝼꞁ", "grstdfl"],
  ["ƃǝɔɥᴉʞɯɹʇʌʍʎᵷⱯƎ", "gechikmrtvwygAE"],
  // Rings and small strokes of many scripts: Deseret, Tifinagh, Hebrew, Arabic, Indian and other zeros, symbols
  ["𐐬𐐄𐑈ⵔⵙⵏ", "oOsool"],
  ["\u05e1\u0647\u06c1\u06be\u06d5\u0665\u06f5\u05d5\u05df\u05d8", "ooooooollu"],
  ["०০੦૦୦௦౦೦൦๐໐၀០ဝഠ", "ooooooooooooooo"],
  ["〇○◯◦⚬◌", "oooooo"],
  // Marks
  ["⁃˗➖─━⎯", "------"], // folded-text.ts knows the dashes of Unicode
  ["‘’‛′ʼʹˈ´", "''''''''"],
  ["“”‟″〝〞", '""""""'],
  ["⁄∕⧸╱", "////"],
  ["∶ː꞉", ":::"],
  ["․ꓸ", ".."],
  ["∼˜", "~~"],
  ["‹›〈〉《》⟨⟩⟪⟫❬❭❮❯❰❱⦑⦒⧼⧽˂˃ᐸᐳ«»≺≻", "<><><><><><><><><><><><><><>"],
  ["⁎∗", "**"],
  ["℮ǀǃ", "el!"],
  ["\u2800\u3164\uffa0\u115f\u1160", "     "],
];

/** A second way to read a character: a filler as nothing instead of a blank, a letter as another one that it resembles. */
const OTHERS: readonly (readonly [string, string])[] = [
  ["ниѝуцьярɟɾʌνυγωηℓ", "nuuuubrrfjnnvywnl"],
  ["НИУЯ", "NUUR"],
  ["०০੦૦୦௦౦೦൦๐໐၀០〇○", "000000000000000"],
];
const FILLERS = "\u2800\u3164\uffa0\u115f\u1160";

const CODE_A = 0x41;
const CODE_SMALL_A = 0x61;
/** Runs of 26 characters that stand for A to Z: negative circled and squared letters, regional indicators. */
const ALPHABETS: readonly number[] = [0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6];
/** Letters in parentheses, which Unicode decomposes into three characters. */
const SMALL_ALPHABET = 0x249c;
const CHEROKEE = { first: 0x13a0, firstSmall: 0xab70, count: 80 };

let table: ReadonlyMap<number, string> | undefined;

/** The character a code point stands for; undefined when it stands for itself. */
export function lookAlike(codePoint: number): string | undefined {
  table ??= build();
  return table.get(codePoint);
}

let others: ReadonlyMap<number, string> | undefined;

/** The second reading of a code point; undefined when there is none. */
export function otherLookAlike(codePoint: number): string | undefined {
  others ??= new Map([...pairUp(OTHERS), ...[...FILLERS].map((each) => [each.charCodeAt(0), ""] as const)]);
  return others.get(codePoint);
}

function pairUp(pairs: readonly (readonly [string, string])[]): Map<number, string> {
  const built = new Map<number, string>();
  for (const [from, to] of pairs) {
    const characters = [...from];
    if (characters.length !== to.length)
      throw new Error(`${characters.length} look-alikes stand for ${to.length} characters: ${to}`);
    for (const [index, character] of characters.entries())
      built.set(character.codePointAt(0) ?? 0, to.charAt(index));
  }
  return built;
}

function build(): ReadonlyMap<number, string> {
  const built = pairUp(PAIRS);
  for (const [character, letters] of [
    ["æ", "ae"],
    ["œ", "oe"],
    ["Æ", "AE"],
    ["Œ", "OE"],
  ] as const)
    built.set(character.codePointAt(0) ?? 0, letters);
  for (const first of ALPHABETS)
    for (let letter = 0; letter < 26; letter += 1)
      built.set(first + letter, String.fromCharCode(CODE_A + letter));
  for (let letter = 0; letter < 26; letter += 1)
    built.set(SMALL_ALPHABET + letter, String.fromCharCode(CODE_SMALL_A + letter));
  for (let index = 0; index < CHEROKEE.count; index += 1) {
    const capital = built.get(CHEROKEE.first + index);
    if (capital !== undefined) built.set(CHEROKEE.firstSmall + index, capital);
  }
  return built;
}
