"""Refusals in many wordings, and answers that are none."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.refusals import abstains, abstention, clauses, stated_part
from veridical.text.sentences import split_sentences

REFUSALS = """
I don't know.
I’m not sure.
The pages I was given don't say whether dogs may swim.
A churn figure is not given.
Prices aren't listed.
That isn't something the lease extract tells us.
I have no idea who that is.
I'm sorry, but I can't help with that.
Sorry, I cannot provide medical advice. Please consult a doctor.
I am unable to answer this question based on the provided context.
I must decline to answer that.
It is hard to say.
It is difficult to tell what happened.
I won't be able to help with this request.
The context does not mention the release date.
There is not enough information to determine this.
The answer cannot be determined from the given passages.
Based on the provided passages, it is not clear which channel airs the lottery.
That information is not available in the provided documents.
Unknown
N/A
As an AI language model, I don't have personal opinions.
I don't have access to real-time data. Is there anything else I can help with?
Unfortunately, I could not find any information about this person.
Ich weiß es nicht.
Es tut mir leid, ich kann diese Frage nicht beantworten.
Je ne sais pas.
Désolé, je ne peux pas répondre à cette question.
Lo siento, no puedo responder a esa pregunta.
No lo sé.
Mi dispiace, non posso rispondere a questa domanda.
Desculpe, não posso responder a essa pergunta.
Ik weet het niet.
К сожалению, я не могу ответить на этот вопрос.
抱歉，我无法回答这个问题。
申し訳ありませんが、その質問にはお答えできません。
""".strip().splitlines()

#: The sources do not tell, in the words of people and models.
SILENCE = """
Unfortunately, the text does not mention how parcels are insured.
Nothing in the guide tells how long the battery lasts.
I could not see anything about parking in the excerpts.
The page only covers tickets and lockers; it does not say when the last tram leaves.
It is not specified who pays for the repair.
There's nothing in these files about a discount.
Neither of the two articles explains why the dam broke.
I wasn't able to find an answer to that in the handbook.
That is outside the scope of the material.
Neither the tariff nor the leaflet says anything about bicycles, so I can't tell.
It doesn't go into cleaning as far as I can see; about care, it says only when to oil it.
There's no mention of a deposit, or of who holds the key.
The rules cover holidays in detail, but moving doesn't come up in them, so please ask HR.
The article is on the bridge, the harbour and the old mill, not on the railway.
The notes list rent, heating and water, but they do not say whether the lift is free.
The minutes speak of the new roof and of the budget, but not of the date of the fair.
I couldn't find that. The pages describe the engine and who builds it, but not in which year.
The leaflet says nothing about parking.
The manual is silent on this point.
None of the three pages gives a phone number for the desk, I'm afraid.
I looked through the handbook but couldn't find anything about overtime.
The documents you shared don't specify the delivery date [2].
Sorry, the answer isn't in the documents provided.
That detail is not given in the text.
The author of the article never explains why the bridge was closed.
I can't say from the information provided.
The provided sources do not give any information on the price, so the question cannot be answered.
The context doesn't include the year in which the mill was built.
No information on this is available in the context.
No relevant information could be found.
No information relevant to the question appears in the text.
No details have been made public.
No answer is possible.
No part of the document mentions the fee.
There is no section about parking in the manual.
There are no rules on dogs in the text.
There is no record of the price in the documents.
No description is given.
The recipe makes no mention of how long to bake it.
From the minutes it is not clear who voted against.
Whether dogs are allowed is not mentioned in the house rules.
The excerpt leaves open when the work will start.
The brochure does not say when the pool opens and how much it costs.
I don't have that information. If you need help, please contact the reception.
The question can't be answered with the given documents. Feel free to share more details!
The text does not state the price, the date or the place of the concert.
Based on the context provided, I cannot determine who wrote the letter.
Der Text erwähnt nicht, wie man ein Konto schließt.
Leider steht in den Unterlagen nichts über Haustiere.
In den Unterlagen wird nicht erwähnt, ob Hunde erlaubt sind.
Dazu habe ich in den Dokumenten keine Angaben gefunden.
Aus dem Kontext geht nicht hervor, wann das Museum öffnet.
Le contexte ne précise pas si les chiens sont admis.
Malheureusement, le texte ne mentionne pas le prix.
Je n'ai trouvé aucune information à ce sujet dans les documents.
Rien n'est dit sur les horaires dans le document.
El texto no menciona si se admiten perros.
Lamentablemente, no he encontrado información sobre eso en los documentos.
En el contexto no se indica la fecha.
Il testo non dice se i cani sono ammessi.
Purtroppo nel documento non ci sono informazioni sul prezzo.
I documenti non specificano la data.
O texto não menciona se cães são permitidos.
Infelizmente, não encontrei essa informação nos documentos.
Os documentos não informam a data.
De tekst vermeldt niet of honden zijn toegestaan.
In de documenten staat niets over huisdieren.
Tekst nie wspomina o psach.
W dokumentach nie ma informacji o cenie.
文中没有提到是否允许带狗。
根据提供的资料，无法确定日期。
本文には犬の同伴について記載されていません。
В тексте не говорится, можно ли с собаками.
Not mentioned in the text.
The passage doesn't say.
It doesn't say anything about that.
From the context, we cannot tell when the ferry leaves.
In the document, we can not see any fee.
From the text, it is unclear when it leaves.
From the text, I can tell nothing about the fee.
Based on the context, the price cannot be determined.
I could not find the fee, which is what you asked for.
The page does not say so, which leaves the question open.
No fee is mentioned, meaning that I can't say what it costs.
No fee is mentioned, so it is unclear whether dogs travel free.
No fee is mentioned, making it impossible to answer.
The text does not say who built it, who paid for it, or when.
The text does not mention the price, where it leaves, or who runs it.
I couldn't find this in the documents, which only cover tickets.
I couldn't find this in the documents, which do not mention dogs.
I don't have access to that document, which may contain the answer.
The context does not mention this, which is a limitation.
I could not find the answer, that is, the price of the ferry.
Whether dogs are allowed, the text does not say.
Leider erwähnt der Kontext den Preis nicht.
Bedauerlicherweise nennt das Dokument keinen Preis.
Darüber sagt der Text nichts.
Den Preis nennt der Text nicht.
Dazu äußert sich das Dokument nicht.
Leider gibt der Text darüber keine Auskunft.
Ob Hunde mitfahren, sagt das Dokument nicht.
Ich habe dazu nichts gefunden.
Diese Information fehlt im Dokument.
Leider schweigt das Dokument dazu.
Im Dokument ist kein Preis angegeben.
Helaas vermeldt het document dit niet.
Daarover zegt de tekst niets.
Jammer genoeg noemt de tekst geen prijs.
De tekst gaat daar niet op in.
Dit staat niet in het document.
Ik kon deze informatie niet vinden.
Ik heb hierover niets gevonden.
Deze informatie ontbreekt in het document.
Spiacente, il documento non lo dice.
Non lo menziona il testo.
Il documento non fa menzione del prezzo.
Non riesco a trovare questa informazione.
Nel testo, non si menziona il prezzo.
Malheureusement, le document n'en parle pas.
Hélas, le texte n'en fait pas mention.
Cette information ne figure pas dans le document.
El texto no lo menciona.
Por desgracia, el texto nada dice sobre el precio.
No lo menciona el texto.
Esta información no está en el documento.
El documento no hace mención del precio.
Infelizmente, o texto não diz isso.
O texto nada diz sobre o preço.
Essa informação não está no documento.
O documento não faz menção ao preço.
文書には記載がありません。
残念ながら、文書には料金の記載はございません。
資料には載っていません。
文書にはその情報が含まれていません。
この記事では料金に触れていません。
文書に記載がないため、お答えできません。
記載なし。
""".strip().splitlines()

ANSWERS = """
A discount is not given.
Receipts aren't provided.
That is not something the tenant pays for.
The cause of her death is not known.
The population of the region is unknown.
His date of birth is unknown, but he died in 1850.
I'm not sure, but I think it was in 1912.
I don't know who wrote it, but it was published by Penguin. You might like it.
It is not clear why the empire fell.
The company could not find a buyer.
He said he did not know the answer.
Scientists do not know what dark matter is.
There is insufficient evidence on the health benefits of cat's claw.
The album was not available in Europe.
No, goat's milk does not create mucus.
No
I cannot believe how good this film is.
Unknown Pleasures is the debut album by Joy Division.
None of the members were born in Ohio.
As an AI language model, I can tell you that Oslo is in Norway.
I did not know that. Wasn't James Rodriguez also at FC Porto?
Paris is the capital of France. I don't know more.
She cannot answer the phone.
Er kannte die Stadt nicht.
这座城市没有地铁。
""".strip().splitlines()


#: What states something inside, beside or in the form of a refusal or courtesy.
EVASIONS = """
The passage does not mention a fee for pets, so dogs travel for free.
The text gives no year, but it was in May.
I'm happy to share that dogs are allowed on board.
I'm afraid dogs are not allowed.
As a language model I cannot book a table, but the restaurant opens at noon.
The passage does not mention a fee for pets and dogs travel for free.
The passage does not mention a fee for pets, dogs travel for free.
The passage does not mention a fee for pets (dogs travel for free).
As the passage does not mention a fee for pets, dogs travel for free.
Since no fee is mentioned in the text, dogs travel for free.
Although the context does not mention it, the mill was built in 1883.
I don't have access to your data; the fee is ten euros.
Sorry, dogs stay at home.
Unfortunately, the pool is closed on Mondays.
Unfortunately not.
The policy does not cover flood damage.
The warranty does not include batteries.
Breakfast is not included.
Please note that dogs are allowed.
I recommend the blue route, because it is free.
The fee not mentioned in the context is ten euros.
The text does not say so, which means dogs are free.
He could not find his keys.
The report does not mention names: the director was fired.
If you have a receipt, returns are free.
I understand that dogs are allowed.
I hope you enjoy the free ride for dogs that the ferry offers.
No, the shop does not open on Sunday.
There is no fee for pets.
There are no lifts in the building.
Nothing is charged for pets.
No data was lost.
No customer data was leaked in the attack.
No details were changed after the review.
No data is shared with advertisers.
No personal data leaves the building.
No entry for children under 12.
No section of the road is closed.
There is no part of the warranty that covers water damage.
There is no text on the label.
There are no instructions in the box.
There is no record of any payment by the company.
Der Text erwähnt keine Gebühr, also fahren Hunde kostenlos.
Der Text erwähnt keine Gebühr, aber Hunde fahren kostenlos mit.
Leider sind Hunde nicht erlaubt.
Le texte ne mentionne pas de frais, donc les chiens voyagent gratuitement.
Malheureusement, les chiens ne sont pas admis.
El texto no menciona ninguna tarifa, así que los perros viajan gratis.
Il testo non menciona tariffe, quindi i cani viaggiano gratis.
Il testo non menziona tariffe, quindi i cani viaggiano gratis.
O texto não menciona taxa, portanto os cães viajam de graça.
De tekst vermeldt geen kosten, dus honden reizen gratis.
Tekst nie wspomina o opłacie, więc psy jadą za darmo.
文中没有提到费用，所以狗可以免费乘车。
本文には料金の記載がありませんので、犬は無料です。
Los perros no están permitidos.
Les chiens ne sont pas admis dans la salle.
Hunde sind nicht erlaubt.
I don't know how to cancel, but refunds take 14 days.
I couldn't find the steps, but you can do it under Profile > Plan.
The guide does not mention refunds. However, you get one by calling 555-0199.
From the context, we can see that the ferry leaves at noon.
From the text, it can be seen that the ferry leaves at noon.
In the document we see that the ferry leaves at noon.
In the document, one can say that the ferry leaves at noon.
From the text it is clear that no fee is charged.
According to the text, dogs cannot enter the pool.
I hope this helps, and dogs travel free.
I could not find the fee, which is 10 euros.
I could not find the fee, namely 10 euros.
The page covers dogs, which travel free, but it does not mention a fee.
The text does not mention the insurance, which covers theft.
I couldn't find the author, who was born in Leeds.
The text does not mention the museum, where dogs travel free.
No fee is mentioned, meaning that dogs travel free.
No fee is mentioned, which means that dogs travel free.
No fee is mentioned, implying that dogs travel free.
No fee is mentioned which means that dogs travel free.
No fee is mentioned, so dogs travel free.
No fee is mentioned, so that dogs travel free.
No fee is mentioned, so I conclude that dogs travel free.
No fee is mentioned, and that means dogs travel free.
No fee is mentioned, i.e. dogs travel free.
No fee is mentioned and therefore dogs travel free.
No fee is mentioned, making the trip free for dogs.
Der Text erwähnt keine Gebühr, was bedeutet, dass Hunde kostenlos fahren.
Le texte ne mentionne pas de frais, ce qui signifie que les chiens voyagent gratuitement.
El texto no menciona tarifas, lo que significa que los perros viajan gratis.
No encontré la tarifa, que es de 10 euros.
Il testo non menziona la tariffa, il che significa che i cani viaggiano gratis.
O texto não menciona taxas, o que significa que os cães viajam de graça.
De tekst vermeldt geen prijs, wat betekent dat honden gratis reizen.
The document does not expire.
The document does not have to be signed.
The page does not load on phones.
The text is not long.
Das Dokument gilt nicht im Ausland.
Der Vertrag erwähnt den Preis, nicht die Gebühr.
Die Anleitung geht nicht verloren.
Die Frau erwähnt das Dokument nicht.
Der Vertrag enthält keine Kaution.
Das Haus steht nicht mehr.
Ich finde das nicht gut.
Hij vermeldt het document niet.
Helaas geldt het document niet in het buitenland.
De tekst staat niet op papier.
Ik vind dit niet leuk.
Il documento non scade.
Non menziona il documento.
Il contratto non dà diritto al rimborso.
Le document n'est pas valable à l'étranger.
Elle ne mentionne pas le document.
Le contrat ne permet pas les chiens.
El documento no vale en el extranjero.
Ella no menciona el documento.
El contrato no permite perros.
O documento não vale no exterior.
Ela não menciona o documento.
O contrato não dá direito a reembolso.
文書には署名がありません。
この文書には料金の情報があります。
犬の料金は含まれていません。
説明書は無料ではありません。
情報は少なくとも二つあります。
""".strip().splitlines()


@pytest.mark.parametrize("response", [*REFUSALS, *SILENCE])
def test_refusals(response):
    assert abstains(response)
    assert abstains(f"  {response}\n")


@pytest.mark.parametrize("response", [*ANSWERS, *EVASIONS, "", " ", "?!"])
def test_answers(response):
    assert not abstains(response)


@pytest.mark.parametrize(
    "sentence, stated",
    [
        ("The text gives no year, but it was in May.", "it was in May."),
        ("The page does not mention a fee, so dogs travel free.", "dogs travel free."),
        ("As the page does not mention a fee, dogs travel free.", "dogs travel free."),
        ("It opened in May, but the text does not say where.", "It opened in May"),
        ("Der Text nennt kein Jahr, aber es war im Mai.", "es war im Mai."),
        ("Le texte ne précise pas la date, mais c'était en mai.", "c'était en mai."),
        ("El texto no dice la fecha, pero fue en mayo.", "fue en mayo."),
        ("I could not find the fee, which is 10 euros.", "the fee, which is 10 euros."),
        ("No fee is mentioned, meaning that dogs travel free.", "dogs travel free."),
        ("El texto no dice la tasa, es decir, es gratis.", "es gratis."),
        ("The text does not mention the fee.", ""),
        ("It opened in May.", "It opened in May."),
        ("I'm afraid it opened in May.", "I'm afraid it opened in May."),
    ],
)
def test_what_is_stated_beside_a_refusal(sentence: str, stated: str) -> None:
    start, end = stated_part(sentence)
    assert sentence[start:end] == stated
    assert abstention(sentence) is (stated != sentence)


@pytest.mark.parametrize("sentence", [*REFUSALS, *SILENCE, *ANSWERS, *EVASIONS])
def test_clauses_are_in_order_and_inside(sentence: str) -> None:
    at = 0
    for clause in clauses(sentence):
        assert at <= clause.start < clause.end <= len(sentence)
        at = clause.end


def test_what_a_source_is_about_must_be_known() -> None:
    text = "The leaflet describes the lift and the pool, but it does not say when they open."
    assert abstains(text) and abstains(text, lambda clause: True)
    assert not abstains(text, lambda clause: False)
    start, end = stated_part(text, lambda clause: False)
    assert text[start:end] == "The leaflet describes the lift and the pool"
    asked: list[str] = []
    abstains(text, lambda clause: bool(asked.append(clause)))
    assert asked == [" the lift and the pool"]


@pytest.mark.parametrize(
    "piece",
    [
        "the provided ",
        "there is no ",
        "i cannot ",
        "sorry, but no ",
        "not mentioned in ",
        "the text does not say, ",
        "(no ",
        "nothing in the pages and ",
        "der text nicht ",
        "n'",
        "leider sagt der text ",
        "dit staat niet in de ",
        "no lo dice ",
        "non lo ",
        "記載が",
        "meaning that ",
        "which is ",
        ", which means, ",
        ", making ",
        "without fee, where, ",
        "没有",
        "as, since, ",
    ],
)
def test_time_grows_with_length(piece: str) -> None:
    assert growth(abstains, repeated(piece)) < MOST
    split = growth(lambda text: [clauses(s.text) for s in split_sentences(text)], repeated(piece))
    assert split < MOST


@pytest.mark.parametrize(
    "piece",
    [
        "the provided ",
        "the text does not say, ",
        "no page and ",
        "(no ",
        "the text, it is not ",
        "leider sagt der text ",
        "im dokument steht ",
        "no texto não ",
        "en el texto no ",
        "in de tekst staat ",
        "nel testo non ",
        "dans le texte ne ",
        "文書には情報が",
        "the fee not found, which is ",
    ],
)
def test_time_grows_with_the_length_of_a_sentence(piece: str) -> None:
    def read(text: str) -> object:
        long = len(text) // 32
        return [clauses(text[start : start + long]) for start in range(0, len(text), long)]

    assert growth(read, repeated(piece)) < MOST  # sentences of 1000 characters against 62
