/// The neutral form of an event, from which its log line, its JSON and its sentence for people are made.
package struct EventProjection: Sendable {
    /// The topic and what happened: `task.completed`.
    package let name: String
    /// The level of the log line; `trace` events are never logged.
    ///
    /// Where an event is shown is ``Event/Relevance``.
    package let level: Event.Level
    /// The message of the log line.
    package let message: String
    // Made on demand: the log has no use for it.
    private let makeSentence: @Sendable () -> String
    /// The other fields, in the order of JSON.
    package var fields: [Field]

    init(
        _ name: String, _ level: Event.Level, _ message: String,
        _ sentence: @autoclosure @escaping @Sendable () -> String, _ fields: [Field] = []
    ) {
        (self.name, self.level, self.message) = (name, level, message)
        self.makeSentence = sentence
        self.fields = fields
    }

    /// What happened, as a clause for people, without a full stop; a task's event leaves out which task it was.
    package var sentence: String { self.makeSentence() }

    /// One fact about an event.
    package struct Field: Sendable {
        /// The member's name in JSON; nil if JSON does not have it.
        package let key: String?
        /// The field's name in the log; nil if the log does not have it.
        package let logKey: String?
        /// The fact.
        package let value: Value

        /// A field of both; `logKey` renames it in the log.
        static func both(_ key: String, _ value: Value, log logKey: String? = nil) -> Self {
            Self(key: key, logKey: logKey ?? key, value: value)
        }

        static func both<Fact: EventFact>(_ key: String, _ fact: Fact?, log logKey: String? = nil) -> Self {
            .both(key, Fact.value(fact), log: logKey)
        }

        /// A field of JSON alone.
        static func json<Fact: EventFact>(_ key: String, _ fact: Fact?) -> Self {
            Self(key: key, logKey: nil, value: Fact.value(fact))
        }

        /// A field of the log alone.
        static func log(_ logKey: String, _ value: Value) -> Self { Self(key: nil, logKey: logKey, value: value) }

        static func log<Fact: EventFact>(_ logKey: String, _ fact: Fact?) -> Self { .log(logKey, Fact.value(fact)) }
    }

    /// A field's content, before it is formatted.
    package enum Value: Sendable {
        case text(String?)
        /// A reason or a party: its name for programs, its words for people.
        case word(String?, String?)
        /// A URL or an origin, which passes the redaction.
        case url(String)
        case integer(Int64?)
        case number(Double?)
        case flag(Bool)
        /// In JSON a number of seconds.
        case duration(Duration?)
        /// A number of errno(3); in the log its text.
        case systemError(Int32)
        /// A value without a form for the log.
        case json(JSONValue)

        /// A reason or a party.
        static func word<Word: RawRepresentable<String> & CustomStringConvertible>(_ word: Word?) -> Self {
            .word(word?.rawValue, word?.description)
        }

        func json(_ redaction: URLRedaction) -> JSONValue {
            switch self {
            case .text(let text): .optional(text)
            case .word(let code, _): .optional(code)
            case .url(let url): .string(redaction.text(of: url))
            case .integer(let number): .optional(number)
            case .number(let number): .optional(number)
            case .flag(let flag): .bool(flag)
            case .duration(let duration): .seconds(duration)
            case .systemError(let number): .integer(Int64(number))
            case .json(let value): value
            }
        }
    }
}

/// A value that a field can hold directly.
protocol EventFact {
    static func value(_ fact: Self?) -> EventProjection.Value
}

extension String: EventFact {
    static func value(_ fact: String?) -> EventProjection.Value { .text(fact) }
}

extension Bool: EventFact {
    static func value(_ fact: Bool?) -> EventProjection.Value { fact.map { .flag($0) } ?? .text(nil) }
}

extension Double: EventFact {
    static func value(_ fact: Double?) -> EventProjection.Value { .number(fact) }
}

extension Duration: EventFact {
    static func value(_ fact: Duration?) -> EventProjection.Value { .duration(fact) }
}

extension JSONValue: EventFact {
    static func value(_ fact: JSONValue?) -> EventProjection.Value { .json(fact ?? .null) }
}

extension EventFact where Self: BinaryInteger {
    static func value(_ fact: Self?) -> EventProjection.Value { .integer(fact.map { Int64($0) }) }
}

extension Int: EventFact {}
extension Int64: EventFact {}
extension UInt16: EventFact {}
extension UInt32: EventFact {}
