import { describe, expect, it } from "vitest";
import { isStopWord, stem } from "../../../src/sessions/search/words.ts";

/** Words with the stems of the published English stemmer. */
const PUBLISHED = `
  consign consign, consigned consign, consigning consign, consignment consign, consist consist, consisted consist,
  consistency consist, consistent consist, consistently consist, consisting consist, consists consist, consolation consol,
  consolations consol, consolatory consolatori, console consol, consoled consol, consoles consol, consolidate consolid,
  consolidated consolid, consolidating consolid, consoling consol, consolingly consol, consols consol, consonant conson,
  consort consort, consorted consort, consorting consort, conspicuous conspicu, conspicuously conspicu, conspiracy conspiraci,
  conspirator conspir, conspirators conspir, conspire conspir, conspired conspir, conspiring conspir, constable constabl,
  constables constabl, constance constanc, constancy constanc, constant constant, knack knack, knackeries knackeri,
  knacks knack, knag knag, knave knave, knaves knave, knavish knavish, kneaded knead, kneading knead, knee knee, kneel kneel,
  kneeled kneel, kneeling kneel, kneels kneel, knees knee, knell knell, knick knick, knif knif, knight knight,
  knightly knight, knights knight, knit knit, knits knit, knitted knit, knitting knit, knob knob, knobs knob, knock knock,
  knocked knock, knocker knocker, knockers knocker, knocking knock, knocks knock, knopp knopp, knot knot, knots knot,
  caresses caress, ponies poni, ties tie, dies die, tied tie, cries cri, cried cri, gas gas, this this, gaps gap, kiwis kiwi,
  agreed agre, feed feed, hoped hope, hopping hop, hoping hope, plastered plaster, motoring motor, sing sing,
  luxuriated luxuri, troubled troubl, sized size, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail,
  filing file, happy happi, say say, enjoy enjoy, by by, cry cri, relational relat, conditional condit, rational ration,
  valency valenc, hesitancy hesit, digitizer digit, conformably conform, radically radic, differently differ, vilely vile,
  analogously analog, vietnamization vietnam, predication predic, operator oper, feudalism feudal, decisiveness decis,
  hopefulness hope, callousness callous, formality formal, sensitivity sensit, sensibility sensibl, triplicate triplic,
  formative format, formalize formal, electricity electr, electrical electr, goodness good, revival reviv, allowance allow,
  inference infer, airliner airlin, adjustable adjust, defensible defens, irritant irrit, replacement replac,
  adjustment adjust, dependent depend, adoption adopt, communism communism, activate activ, effective effect, bowdlerize bowdler,
  probate probat, rate rate, cease ceas, controlling control, roll roll, generate generat, general general, generous generous,
  generously generous, communication communic, arsenal arsenal, skis ski, skies sky, dying die, lying lie, tying tie,
  idly idl, gently gentl, ugly ugli, early earli, only onli, singly singl, sky sky, news news, howe howe, atlas atlas,
  cosmos cosmos, bias bias, andes andes, innings inning, outings outing, herrings herring, proceeds proceed, exceeded exceed,
  succeeding succeed, youth youth, boyish boyish, playing play, flying fli, argument argument, national nation,
  nationally nation, bypass bypass, apology apolog, geology geolog, quickly quick, repeatedly repeat, exceedingly exceed
`;

/** Forms that no rule connects. */
const IRREGULAR = `
  go goes going went gone, buy buys buying bought, child children child's, take takes taking took taken, see sees seeing saw seen,
  write writes writing wrote written, think thinks thinking thought, make makes making made, run runs running ran,
  speak speaks speaking spoke spoken, tooth teeth, woman women, mouse mice, analysis analyses, criterion criteria,
  give gives giving gave given, know knows knowing knew known, teach teaches teaching taught, swim swims swimming swam swum,
  choose chooses choosing chose chosen, shelf shelves, person persons people, begin begins beginning began begun
`;

describe("the stem of a word", () => {
  const pairs = PUBLISHED.trim()
    .split(/,\s+/)
    .map((pair) => pair.split(" "));

  it("is the published one", () => {
    expect(pairs.length).toBeGreaterThan(150);
    expect(pairs.map(([word = ""]) => [word, stem(word)])).toEqual(pairs);
  });

  it.each(
    IRREGULAR.trim()
      .split(/,\s+/)
      .map((forms) => [forms]),
  )("is one for %s", (forms) => {
    expect(new Set(forms.split(" ").map(stem)).size).toBe(1);
  });

  it("keeps words apart that only look alike", () => {
    expect(stem("general")).not.toBe(stem("generate"));
    expect(stem("live")).toBe(stem("lives"));
    expect(stem("rose")).not.toBe(stem("rise"));
  });

  it.each(["v2", "2026s", "naïves", "città", "釉料", "книги", "", "a", "is-a", "🏺s"])(
    "of %j is the word itself",
    (word) => {
      expect(stem(word)).toBe(word);
    },
  );
});

describe("a stop word", () => {
  it("is one that a question holds and its answer need not", () => {
    const question = "when did you say that the kiln was going to be fired for her exhibition in may".split(
      " ",
    );
    expect(question.filter((word) => !isStopWord(word))).toEqual([
      "say",
      "kiln",
      "going",
      "fired",
      "exhibition",
    ]);
  });
});
