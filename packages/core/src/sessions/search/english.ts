// Words of English that no rule covers: forms of irregular verbs and nouns, and words too common to search for.

/** Base form, then its other forms. Forms that are mostly another word (`rose`, `ground`, `lay`) are left out. */
const FORMS = `
  be am is are was were been being | have has had having | do does did done doing | go goes went gone
  arise arose arisen | awake awoke awoken | bear borne | beat beaten | become became | begin began begun | bend bent
  bet | bind bound | bite bitten | bleed bled | blow blew blown | break broke broken | breed bred | bring brought
  build built | burn burnt | buy bought | catch caught | choose chose chosen | cling clung | come came | creep crept
  deal dealt | dig dug | draw drew drawn | dream dreamt | drink drank drunk | drive drove driven | eat ate eaten
  fall fell fallen | feed fed | feel felt | fight fought | find found | flee fled | fly flew flown | forbid forbade forbidden
  forget forgot forgotten | forgive forgave forgiven | freeze froze frozen | get got gotten | give gave given
  grow grew grown | hang hung | hear heard | hide hid hidden | hold held | keep kept | kneel knelt | know knew known
  lead led | lean leant | leap leapt | learn learnt | leave left | lend lent | light lit | lose lost | make made
  mean meant | meet met | mislead misled | mistake mistook mistaken | oversee oversaw overseen | overcome overcame | pay paid
  prove proven | rebuild rebuilt | rewrite rewrote rewritten | ride rode ridden | ring rang rung | rise risen | run ran
  say said | see saw seen | seek sought | sell sold | send sent | sew sewn | shake shook shaken | shine shone | shoot shot
  show shown | shrink shrank shrunk | sing sang sung | sink sank sunk | sit sat | sleep slept | slide slid | speak spoke spoken
  spell spelt | spend spent | spill spilt | spin spun | spring sprang sprung | stand stood | steal stole stolen | stick stuck
  sting stung | stink stank stunk | strike struck stricken | strive strove striven | swear swore sworn | sweep swept | swell swollen
  swim swam swum | swing swung | take took taken | teach taught | tear tore torn | tell told | think thought
  throw threw thrown | undergo underwent undergone | understand understood | undertake undertook undertaken | undo undid undone
  wake woke woken | wear wore worn | weave wove woven | weep wept | win won | withdraw withdrew withdrawn | write wrote written
  child children | man men | woman women | person people | foot feet | tooth teeth | goose geese | mouse mice
  knife knives | wife wives | half halves | shelf shelves | wolf wolves | loaf loaves
  thief thieves | calf calves | self selves | scarf scarves | analysis analyses | crisis crises | thesis theses
  hypothesis hypotheses | diagnosis diagnoses | criterion criteria | phenomenon phenomena | index indices | matrix matrices
  vertex vertices | appendix appendices | grandchild grandchildren | ox oxen
`;

export const IRREGULAR: ReadonlyMap<string, string> = new Map(
  FORMS.split(/[|\n]/).flatMap((line) => {
    const [base = "", ...forms] = line.trim().split(/\s+/);
    return forms.map((form) => [form, base] as const);
  }),
);

export const STOP_WORDS: ReadonlySet<string> = new Set(
  `
  a an the this that these those some any each every both all such other another same own
  i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
  it its itself they them their theirs themselves one ones someone anyone everyone something anything everything
  what which who whom whose when where why how whether
  am is are was were be been being do does did doing done have has had having will would shall should can could may might must
  and or but nor not no so if then than because as until while although though
  of in on at by for with about against between into through during before after above below to from up down out off over
  under again further once here there very too just also only more most much many few ever yet
  s t d ll m re ve don doesn didn isn aren wasn weren haven hasn hadn wouldn shouldn couldn can ain let
  `
    .trim()
    .split(/\s+/),
);

/** Words that frame a question and that its answer rarely repeats. */
export const FRAME_WORDS: ReadonlySet<string> = wordSet(`
  kind kinds type types sort sorts way ways thing things reason reasons example examples name names
  mention mentions mentioned describe describes described say says said tell told talk talked talking discuss discussed
  share shared call called happen happened use used do make made get got
  ago past last day days week weeks month months year years time times earlier recently previous previously
  current currently initially
`);

/** Words by which people say when something was. */
export const TIME_WORDS: ReadonlySet<string> = wordSet(`
  today yesterday tomorrow tonight ago last next since week weeks weekend month months year years day days
  monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter
  january february march april june july august september october november december
  morning afternoon evening night recently
`);

export const NUMBER_WORDS: ReadonlySet<string> = wordSet(`
  one two three four five six seven eight nine ten eleven twelve dozen hundred thousand once twice thrice
  couple several half
`);

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}
