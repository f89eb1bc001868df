"""Common words and letters of languages in Latin script."""

from __future__ import annotations

#: Common English words. Those shared with another language count less.
ENGLISH = """
the of and to a is it for on that with as by at from are be this his her he she they not or an
which have has had their its there when who what how many much does did can will would where you
my your but if than more one was were been being in into about after before between during
through over under while because so such some any all each every both these those we our us i me
him them no nor only also other another may might must should could shall do done just then most
less few here why whether until since per within without against among across up down out off
now never always often however therefore although though very same own new first two three said
says made make makes used use uses get gets got takes take took yes yours let it's don't isn't
doesn't wasn't can't won't i'm you're um uh oh ha yeah okay ok hmm well right here's there's
that's what's am pm they're didn't aren't
"""

#: Common words of other languages, in lower case.
WORDS: dict[str, str] = {
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war"
    " waren wird wurde wurden werden hat haben hatte nicht kein keine mit von vom zu zum zur"
    " im am auf für bei nach aus über unter durch sich sie er es ich wir ihr man auch noch"
    " nur schon wie wenn dass weil als bis seit vor um an kann können muss müssen sollte"
    " darf sowie dieser diese dieses jeder jede alle mehr sehr ja nein wer was wann wo"
    " welche gibt beträgt liegt heißt kostet jahr jahre uhr ihnen ihre seine beim ins",
    "fr": "le la les un une des du de et ou mais est sont était étaient a ont avait été être"
    " avoir il elle ils elles on nous vous je ce cet cette ces son sa ses leur leurs ne pas"
    " plus que qui dont où au aux en dans par pour sur avec sans sous entre depuis pendant"
    " jusqu'à après avant comme si se y même tout tous toute peut peuvent doit doivent fait"
    " très aussi non oui quand combien d'un d'une l'on qu'il qu'elle n'est c'est selon ainsi"
    " lors ans mois heures sera seront faut",
    "es": "el la los las un una unos unas de del y e o u pero es son era eran fue fueron ha han"
    " había ser estar está están se su sus lo le les que quien cual cuando donde como no ni"
    " sí si más muy en por para con sin sobre entre desde hasta durante según al este esta"
    " estos estas ese esa todo todos todas puede pueden debe deben tiene tienen hay también"
    " ya cada años año días día nos usted ustedes cuánto dónde qué así tras ante",
    "pt": "o a os as um uma uns umas de do da dos das e ou mas é são era eram foi foram ser estar"
    " está estão se seu sua seus suas que quem qual quando onde como não nem sim mais muito"
    " em no na nos nas por pelo pela pelos pelas para com sem sobre entre desde até durante"
    " ao à aos às este esta esse essa isso pode podem deve devem tem têm há também já cada"
    " anos ano dias dia você vocês depois apenas só num numa",
    "it": "il lo la i gli le un uno una di del dello della dei degli delle e ed o ma è sono era"
    " erano fu ha hanno aveva essere stato stata stati si suo sua suoi sue che chi cui"
    " quando dove come non né sì più molto in nel nella nei nelle nello per con senza su sul"
    " sulla sui tra fra da dal dalla dai dalle al alla ai alle allo questo questa questi può"
    " possono deve devono anche già ogni anni anno giorni giorno ci vi lei loro dopo prima"
    " fino solo se",
    "nl": "de het een en of maar is zijn was waren wordt werd werden worden heeft hebben had niet"
    " geen met van voor naar op in aan bij uit over onder door tot tegen zich zij hij ze ik"
    " wij we u uw jullie je ook nog al dan als dat die dit deze wat wie waar wanneer hoe"
    " omdat om te er kan kunnen moet moeten mag zal zullen meer zeer ja nee jaar uur dagen"
    " elke alle alleen sinds na tussen wel toe",
    "sv": "och eller men är var har hade inte ingen inget med av för från till på om vid efter"
    " under genom sig han hon den det de vi jag ni som att en ett i ut upp också bara än när"
    " hur vad vem kan måste ska skall skulle blir blev mycket mer mest år dagar denna detta"
    " dessa alla varje eftersom sedan mellan utan där här",
    "da": "og eller men er var har havde ikke ingen med af for fra til på om ved efter under"
    " gennem sig han hun den det de vi jeg som at en et i ud op også kun end når hvor hvad"
    " hvem kan skal skulle bliver blev meget mere mest år dage denne dette disse alle hver"
    " fordi siden mellem uden der her være været må",
    "no": "og eller men er var har hadde ikke ingen med av for fra til på om ved etter under"
    " gjennom seg han hun den det de vi jeg som at en ei et i ut opp også bare enn når hvor"
    " hva hvem kan må skal skulle blir ble mye mer mest år dager denne dette disse alle hver"
    " fordi siden mellom uten der her være vært",
    "fi": "ja tai mutta on ovat oli olivat ei eivät että joka jotka kun jos niin kuin sen se ne"
    " hän he me te minä myös vain vielä jo sekä ole olla ollut voi voivat pitää tämä tämän"
    " nämä kaikki kanssa vuonna vuoden vuotta jälkeen ennen mukaan kautta yli alle hyvin"
    " enemmän mikä missä milloin kuinka kuka tulee ettei eli",
    "pl": "i oraz lub albo ale jest są był była było były nie z ze w we na do od po przy przez"
    " dla o się to ten ta te tego tej tych że który która które jak gdy kiedy gdzie kto co"
    " czy już tylko także również może mogą musi bardzo więcej być ma mają został została"
    " roku rok lat dni jego jej ich za pod nad przed między jako tak",
    "cs": "a nebo ale je jsou byl byla bylo byli není ne z ze v ve na do od po při pro o se si to"
    " ten ta že který která které jak když kdy kde kdo co již jen také může mohou musí velmi"
    " více být má mají roce rok let dnů jeho její jejich za pod nad před mezi jako tak by"
    " podle nejsou",
    "sk": "a alebo ale je sú bol bola bolo boli nie z zo v vo na do od po pri pre o sa si to ten"
    " tá že ktorý ktorá ktoré ako keď kedy kde kto čo už len tiež môže môžu musí veľmi viac"
    " byť má majú roku rok rokov dní jeho jej ich za pod nad pred medzi tak by podľa",
    "sl": "in ali pa je so bil bila bilo bili ni niso ne z s v na do od po pri za o se to ta da"
    " ki kot ko kdaj kje kdo kaj že samo tudi lahko mora zelo več biti ima imajo leta leto"
    " let dni njegov njen njihov pod nad pred med kako tako bi ter",
    "hr": "i ili ali je su bio bila bilo bili nije nisu ne s sa u na do od po pri za o se to taj"
    " ta da koji koja koje kao kad kada gdje gde tko ko što šta već samo također takođe može"
    " mogu mora vrlo više biti ima imaju godine godina dana njegov njezin njihov pod nad"
    " pred između tako bi te",
    "ro": "și si sau dar este sunt era erau a au fost nu în din de la cu pe pentru prin după"
    " despre între se să care ce când unde cum cine că o un una unui unei al ale ai cel cea"
    " mai foarte doar fi fie poate pot trebuie are aveau anul ani zile lui ei lor sub peste"
    " până această acest",
    "hu": "a az és vagy de hogy nem van volt voltak lesz ez ezt azt egy meg már még csak is ha"
    " mint amely aki ami mikor hol hogyan ki mi után előtt között alatt felett nélkül"
    " szerint lehet kell nagyon több minden év évben évi nap sem majd ezért mert",
    "tr": "ve veya ama ile bir bu şu o da de için gibi kadar daha en çok değil var yok olan"
    " olarak oldu edildi ise her hem ki ne zaman nerede nasıl kim kaç sonra önce yıl yılında"
    " yılda tarafından üzerinde göre ancak sadece eden olduğu içinde",
    "vi": "và hoặc nhưng là được bị của có không các những một này đó ở trong trên dưới với từ"
    " đến cho khi nếu thì vì để như đã đang sẽ cũng rất hơn năm ngày người ai gì nào bao"
    " nhiêu phải theo do vào ra cây con",
    "id": "dan atau tetapi adalah ialah yang di ke dari pada untuk dengan ini itu tidak bukan"
    " akan telah sudah dapat bisa harus oleh dalam sebagai juga hanya lebih sangat tahun"
    " hari ada saat ketika jika karena apa siapa kapan bagaimana kami kita mereka anda para"
    " boleh tersebut sejak",
    "ca": "el la els les un una uns unes de del dels i o però és són era eren va van ha han ser"
    " estar es se seu seva seus que qui quan on com no ni sí més molt en per amb sense sobre"
    " entre des fins durant segons al als aquest aquesta pot poden té tenen també ja cada"
    " anys any dies hi ho",
    "gl": "o a os as un unha de do da dos das e ou pero é son era foi foron ser estar está se seu"
    " súa que quen cando onde como non nin si máis moi en no na por polo pola para con sen"
    " sobre entre ata ao á pode poden ten teñen hai tamén xa cada anos ano días",
    "et": "ja või aga on oli olid ei et kes mis kui siis see selle need tema nad ta me ma ka"
    " ainult veel juba ning olema olnud võib saab peab kõik aastal aasta pärast enne kuni"
    " järgi üle alla väga rohkem kus millal kuidas mida",
    "lv": "un vai bet ir bija nav kas ka kad kur kā ja no uz ar par pie pēc līdz gada gadā gadi"
    " šis šī viņš viņa tas tā to arī tikai vēl jau var jābūt ļoti vairāk visi starp bez",
    "lt": "ir arba bet yra buvo nėra kad kas kur kaip kai jei iš į su per prie po iki pagal"
    " metais metų šis ši jis ji jie tai taip pat tik dar jau gali turi labai daugiau visi"
    " tarp be už ant apie",
    "sq": "dhe ose por është janë ishte ishin nuk në me nga për një që si kur ku çfarë kush të së"
    " e i pas para mes deri sipas vetëm edhe shumë më mund duhet vit viti",
    "eu": "eta edo baina da dira zen ziren ez du dute bat hau hori ere beste izan dago urtean"
    " urte arte baino gehiago oso nola non noiz nor zer dela",
    "af": "die het 'n en of maar is was word nie geen met van vir na op in aan by uit oor onder"
    " deur tot sy hy hulle ek ons jy u ook nog as dat wat wie waar wanneer hoe omdat om te"
    " kan moet mag sal meer baie jaar",
    "tl": "ang ng mga sa na ay at o ngunit hindi ito iyon siya sila kami tayo ako para kung kapag"
    " noong mula dahil lamang din rin may mayroon wala ni si ano sino kailan saan paano"
    " taong",
    "sw": "na ya wa za la kwa ni katika hii hiyo huu huyo sio si ilikuwa alikuwa walikuwa kuwa"
    " kama lakini au pia tu sana zaidi mwaka siku baada kabla hadi yake wake yao nini nani"
    " lini wapi",
    "is": "og eða en er var eru voru ekki með af fyrir frá til á um við eftir undir sig hann hún"
    " það þau þeir ég sem að í úr upp líka bara þegar hvar hvað hver getur verður mjög meira"
    " ár",
    "ga": "agus nó ach is tá bhí níl ní an na ar ag le do sa go i de ó faoi roimh tar éis chun sé"
    " sí siad mé tú seo sin bliain mar nach atá",
    "cy": "a ac neu ond mae yw oedd nid yn y yr ar i o gan am dros wrth ei eu ef hi nhw fi hwn"
    " hon sy sydd bod wedi fel flwyddyn",
}

#: Letters that English words lack, in lower case.
LETTERS: dict[str, str] = {
    "de": "äöüß",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "es": "áéíñóúü",
    "pt": "áâãàçéêíóôõú",
    "it": "àèéìòù",
    "nl": "éëïöü",
    "sv": "åäöé",
    "da": "æøåé",
    "no": "æøåé",
    "fi": "äö",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "sk": "áäčďéíĺľňóôŕšťúýž",
    "sl": "čšž",
    "hr": "čćđšž",
    "ro": "ăâîșşțţ",
    "hu": "áéíóöőúüű",
    "tr": "çğıöşüâ",
    "vi": "ăâđêôơưàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ",
    "ca": "àçèéíïòóúü",
    "gl": "áéíñóúü",
    "et": "äõöüšž",
    "lv": "āčēģīķļņšūž",
    "lt": "ąčęėįšųūž",
    "sq": "çë",
    "af": "êëôû",
    "is": "áðéíóúýþæö",
    "ga": "áéíóú",
    "cy": "âêîôûŵŷ",
    "eu": "ñ",
}

#: Words with such letters, in lower case, that English texts have.
LOANWORDS = """
angström açaí blasé brûlée café cafés château châteaux cliché clichés communiqué cortège coup
coöperate coördinate crème crêpe crêpes d'état d'être doppelgänger décor déjà dépôt détente
entrée entrées exposé façade façades façon fiancé fiancée fjäll fête håndbold jalapeno jalapeño
jalapeños matinée maté melée mâché mêlée naïve naïveté né née papier-mâché passé piñata piñatas
pokémon première protégé protégée protégés purée pâté raison reëlect risqué rosé résumé résumés
saké sauté sautéed señor señora smörgåsbord soufflé touché tête vis-à-vis voilà zoölogy à
ångström élan émigré émigrés étude études über
"""

#: Parts of names: next to a capitalised word they do not count.
PARTICLES = """
a af al av bin da das de del della den der des di do dos du e el i ibn il la las le les lo los o
ten ter un van von y zu
"""
