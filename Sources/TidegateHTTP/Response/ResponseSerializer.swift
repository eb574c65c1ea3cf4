public import FoundationEssentials
internal import TidegateCore

/// Makes a value of a response.
public protocol ResponseSerializer<Value>: Sendable {
    /// What is made.
    associatedtype Value: Sendable

    /// What a response has to fulfil, checked in this order.
    var rules: [ResponseRule] { get }

    /// Makes the value of a response that fulfils the rules.
    func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> Value
}

extension ResponseSerializer {
    /// Checks the rules, then makes the value.
    public func value(of response: ReceivedResponse) throws(ResponseSerializationError) -> Value {
        try response.validate(self.rules)
        return try self.decode(response)
    }
}

/// The body unchanged, even if it is empty.
public struct DataResponseSerializer: ResponseSerializer {
    /// What a response has to fulfil: a status from 200 to 299.
    public var rules = [ResponseRule.success]

    /// A serializer with the defaults.
    public init() {}

    /// The body.
    public func decode(_ response: ReceivedResponse) -> Data { Data(response.body) }
}

/// The body as text, in the charset of its content type.
public struct TextResponseSerializer: ResponseSerializer {
    /// What a response has to fulfil: a status from 200 to 299.
    public var rules = [ResponseRule.success]
    /// The charset of a body whose content type names none; see ``decode(_:)`` for those that are known.
    public var defaultCharset = "utf-8"

    /// A serializer with the defaults.
    public init() {}

    /// The text without a byte order mark: UTF-8, UTF-16, US-ASCII, ISO-8859-1 or Windows-1252.
    ///
    /// A byte that the charset has not is an error.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> String {
        try response.text(in: response.charset ?? self.defaultCharset)
    }
}

/// The body, JSON or a property list, as a `Decodable` value.
///
/// An empty body, or one of white space alone, is nil for an `Optional` value and an error for all others.
public struct JSONResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    /// What a response has to fulfil: a status from 200 to 299 and a content type of JSON.
    public var rules = [
        ResponseRule.success, .contentType(["application/json", "text/json", "text/javascript"]),
    ]
    /// Reads every value but a `JSONValue`, whose members keep their order.
    public var decoder = JSONDecoder()
    /// True leaves out members and elements that are `null`, at every level; numbers keep every digit.
    public var removesNulls = false

    /// A serializer with the defaults.
    public init(_ type: Value.Type = Value.self) {}

    /// The value.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> Value {
        if response.isBlank { return try response.absentValue() }
        guard self.removesNulls || Value.self == JSONValue.self || Value.self == JSONValue?.self else {
            return try self.decode(Data(response.body), of: response)
        }
        let parsed = try response.json()
        let value = self.removesNulls ? parsed.withoutNulls : parsed
        if let value = value as? Value { return value }
        return try self.decode(Data(JSONNullRemover.remove(from: response.body)), of: response)
    }

    private func decode(_ data: Data, of response: ReceivedResponse) throws(ResponseSerializationError) -> Value {
        do {
            return try self.decoder.decode(Value.self, from: data)
        } catch {
            // The decoder's own text quotes the body.
            _ = try response.json()
            throw response.error(.mismatch(error, format: "JSON"))
        }
    }
}

/// The body, a property list, as a `Decodable` value.
///
/// An empty body is nil for an `Optional` value and an error for all others.
public struct PropertyListResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    /// What a response has to fulfil: a status from 200 to 299 and the content type of a property list.
    public var rules = [ResponseRule.success, .contentType(["application/x-plist"])]

    /// A serializer with the defaults.
    public init(_ type: Value.Type = Value.self) {}

    /// The value.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> Value {
        if response.isBlank { return try response.absentValue() }
        do {
            return try PropertyListDecoder().decode(Value.self, from: Data(response.body))
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            throw response.error(.invalidPropertyList)
        } catch {
            throw response.error(.mismatch(error, format: "the property list"))
        }
    }
}

/// The value of the first serializer that has one; the body itself if none has.
public struct CompoundResponseSerializer: ResponseSerializer {
    /// What a response has to fulfil before any serializer sees it: a status from 200 to 299.
    public var rules = [ResponseRule.success]
    /// The serializers, in the order in which they are tried.
    public var serializers: [any ResponseSerializer]

    /// A serializer of others.
    public init(_ serializers: [any ResponseSerializer]) { self.serializers = serializers }

    /// The first value; `Data` if the list is empty.
    public func decode(_ response: ReceivedResponse) -> any Sendable {
        for serializer in self.serializers {
            if let value = try? serializer.value(of: response) { return value }
        }
        return Data(response.body)
    }
}

/// A value that may be absent: nil.
private protocol AbsentValue {
    static var absent: Self { get }
}

extension Optional: AbsentValue {
    fileprivate static var absent: Wrapped? { nil }
}

extension ReceivedResponse {
    fileprivate func json() throws(ResponseSerializationError) -> JSONValue {
        try Result { () throws(JSONError) in try JSONValue(parsing: self.body) }
            .mapError { self.error(.invalidJSON($0)) }.get()
    }

    /// What stands for an empty body.
    fileprivate func absentValue<Value>() throws(ResponseSerializationError) -> Value {
        guard let value = (Value.self as? any AbsentValue.Type)?.absent as? Value else { throw self.error(.emptyBody) }
        return value
    }
}

extension ResponseSerializationError.Reason {
    /// What a decoder threw, without the value that it quotes.
    fileprivate static func mismatch(_ error: any Error, format: String) -> Self {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            .mismatch(path: context.codingPath.text, problem: "\(format) has no member \(key.stringValue)")
        case DecodingError.valueNotFound(let type, let context):
            .mismatch(path: context.codingPath.text, problem: "\(format) has no value for \(type)")
        case DecodingError.typeMismatch(let type, let context):
            .mismatch(path: context.codingPath.text, problem: "the value is not \(type)")
        case DecodingError.dataCorrupted(let context):
            .mismatch(path: context.codingPath.text, problem: "the value is of the right type, and not valid")
        default: .mismatch(path: "", problem: "decoding failed with \(type(of: error))")
        }
    }
}
