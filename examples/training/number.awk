# Reads texts, and writes a .jsonl whose labels are the grammatical number of subjects (docs/training-examples.md):
# what stands in front of "is" or "are", if it names two things. From "The keys to the cabinet are old." it makes
#     {"text": "The keys to the cabinet", "label": "plural"}
BEGIN {
    split("is was has does are were have do", verbs)
    for (i in verbs) label[verbs[i]] = i <= 4 ? "singular" : "plural"
}
{
    sentences = split($0, sentence, /[.?!:;,"()]/)
    for (i = 1; i <= sentences; ++i) {
        words = split(sentence[i], word, " ")
        text = ""
        for (j = 1; j <= words; ++j) {
            if (word[j] ~ /^(not|it|they)$|n't$/) break  # "The dogs did not eat it because it was …"
            if (text == "") {
                if (tolower(word[j]) == "the") text = "The"
                continue
            }
            if (word[j] in label) {
                if (text ~ / the / && !(text in seen)) print "{\"text\": \"" text "\", \"label\": \"" label[word[j]] "\"}"
                seen[text] = 1
                break
            }
            text = text " " word[j]
        }
    }
}
