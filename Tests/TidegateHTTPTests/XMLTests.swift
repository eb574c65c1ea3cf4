import Testing
import TidegateHTTP

/// XML documents that are well-formed, and such that are not.
@Suite struct XMLTests {
    @Test("Elements, attributes, text, references, CDATA and comments")
    func document() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE feed PUBLIC "-//X" "http://x/">
            <!-- a > comment -->
            <a:feed xmlns:a='urn:x' note="1 &lt; 2&#10;&#x41;\n\t!">
              <entry id="1"/>one &amp; <![CDATA[<two>&amp;]]><?pi x?>
              <entry id="2">é<b>😃</b></entry >
            </a:feed>
            """
        let feed = try XMLValue(parsing: text)
        #expect(feed.name == "a:feed")
        #expect(feed.attributes == ["xmlns:a": "urn:x", "note": "1 < 2\nA  !"])
        #expect(feed.children.map(\.attributes) == [["id": "1"], ["id": "2"]])
        #expect(feed["entry"]?.content == [])
        #expect(feed.children[1].text == "é😃")
        #expect(feed.children[1]["b"] == XMLValue(name: "b", content: [.text("😃")]))
        #expect(feed.content[2] == .text("one & <two>&amp;\n  "))
        #expect(try XMLValue(parsing: "<a>\r\n\r</a>").text == "\n\n")
    }

    @Test(
        "What is wrong, and in which line",
        arguments: [
            ("text", "no element begins in line 1"),
            ("<a>\n<b></a>", "an end tag does not match its start tag in line 2"),
            ("<a>", "an element has no end in line 1"), ("<a/><b/>", "content follows the root element in line 1"),
            ("<![CDATA[x]]><a/>", "text is outside the root element in line 1"),
            ("<a x=1/>", "an attribute's value is not quoted in line 1"),
            ("<a x/>", "an attribute has no value in line 1"),
            ("<a x='1' x='2'/>", "an attribute is given twice in line 1"),
            ("<a x='1'y='2'/>", "a start tag has no end in line 1"),
            ("<a x='<'/>", "an attribute's value has no end in line 1"),
            ("<a>&nbsp;</a>", "a reference means no character that is known in line 1"),
            ("<a>&#0;</a>", "a reference means no character that is known in line 1"),
            ("<a>&#xD800;</a>", "a reference means no character that is known in line 1"),
            ("<a>& b</a>", "a reference has no end in line 1"), ("<a><!-- </a>", "a comment has no end in line 1"),
            ("<1/>", "a name is missing in line 1"), ("<a>\u{1}</a>", "a control character stands in line 1"),
            (
                "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
                "the document type declares entities, which are not read, in line 1"
            ),
        ])
    func errors(text: String, problem: String) {
        let error = #expect(throws: XMLError.self) { try XMLValue(parsing: text) }
        #expect(error?.description == "not XML: " + problem)
    }

    @Test("Elements without end do not exhaust the stack")
    func deep() {
        let text = String(repeating: "<a>", count: 100_000)
        let error = #expect(throws: XMLError.self) { try XMLValue(parsing: text) }
        #expect(error?.problem == "elements are nested more than 256 deep")
    }

    @Test(
        "The charset of a mark, of the content type, and of the declaration",
        arguments: [
            ([0xFE, 0xFF, 0, 0x3C, 0, 0x61, 0, 0x2F, 0, 0x3E], "text/xml", ""),
            (Array("<a>".utf8) + [0xE9] + Array("</a>".utf8), "text/xml; charset=iso-8859-1", "é"),
            (
                Array("<?xml version='1.0' encoding='ISO-8859-1'?><a>".utf8) + [0xE9] + Array("</a>".utf8),
                "application/xml", "é"
            ),
        ] as [([UInt8], String, String)])
    func charsets(bytes: [UInt8], type: String, text: String) throws {
        let value = try XMLResponseSerializer().value(of: ResponseTests.response(bytes, type: type))
        #expect(value.name == "a")
        #expect(value.text == text)
    }

    @Test("The serializer's errors: type, charset, text and form")
    func serializerErrors() {
        func reason(_ bytes: [UInt8], _ type: String) -> ResponseSerializationError.Reason? {
            do throws(ResponseSerializationError) {
                _ = try XMLResponseSerializer().value(of: ResponseTests.response(bytes, type: type))
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(
            reason(Array("<a/>".utf8), "text/html")
                == .contentType("text/html", acceptable: ["application/xml", "text/xml"]))
        #expect(reason(Array("<a/>".utf8), "text/xml; charset=x") == .unknownCharset("x"))
        #expect(reason([0x3C, 0xFF], "text/xml") == .invalidText(charset: "UTF-8"))
        guard case .invalidXML(let error)? = reason(Array("<a".utf8), "text/xml") else {
            Issue.record("a broken document is no XML error")
            return
        }
        #expect(error.line == 1)
    }
}
