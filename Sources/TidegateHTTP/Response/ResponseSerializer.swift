public import FoundationEssentials
internal import TidegateCore

/// Decodes a value from a response.
public protocol ResponseSerializer<Value>: Sendable {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The conditions for a response, checked in this order.
    var rules: [ResponseRule] { get }

    /// Decodes the value from a response that satisfies the rules.
    func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> Value

    /// The same serializer for values of another type; nil, the default, if it only makes its own.
    ///
    /// A client with this serializer uses it for typed calls.
    func serializer<Other: Decodable & Sendable>(of type: Other.Type) -> (any ResponseSerializer<Other>)?
}

extension ResponseSerializer {
    /// Nil.
    public func serializer<Other: Decodable & Sendable>(of type: Other.Type) -> (any ResponseSerializer<Other>)? { nil }

    /// Checks the rules, then decodes the value.
    public func value(of response: ReceivedResponse) throws(ResponseSerializationError) -> Value {
        try response.validate(self.rules)
        return try self.decode(response)
    }
}

/// The body unchanged, even if it is empty.
public struct DataResponseSerializer: ResponseSerializer {
    /// The conditions: a status from 200 to 299.
    public var rules = [ResponseRule.success]

    /// A serializer with the defaults.
    public init() {}

    /// The body.
    public func decode(_ response: ReceivedResponse) -> Data { Data(response.body) }
}

/// The body as text, in the charset of its content type.
public struct TextResponseSerializer: ResponseSerializer {
    /// The conditions: a status from 200 to 299.
    public var rules = [ResponseRule.success]
    /// The charset of a body whose content type names none; ``decode(_:)`` lists the supported ones.
    public var defaultCharset = "utf-8"

    /// A serializer with the defaults.
    public init() {}

    /// The text without a byte order mark: UTF-8, UTF-16, US-ASCII, ISO-8859-1 or Windows-1252.
    ///
    /// A byte that is invalid in the charset is an error.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> String {
        try response.text(in: response.charset ?? self.defaultCharset)
    }
}

/// The JSON body as a `Decodable` value.
///
/// An empty body, or one with only white space, is nil for an `Optional` value and an error for all others.
public struct JSONResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    /// The conditions: a status from 200 to 299, and a JSON content type.
    public var rules = [
        ResponseRule.success, .contentType(["application/json", "text/json", "text/javascript"]),
    ]
    /// Decodes all values except `JSONValue`, whose members keep their order.
    public var decoder = JSONDecoder()
    /// True removes `null` members and elements at every level; numbers keep every digit.
    public var removesNulls = false

    /// A serializer with the defaults.
    public init(_ type: Value.Type = Value.self) {}

    /// The same settings for values of another type.
    public func serializer<Other: Decodable & Sendable>(of type: Other.Type) -> (any ResponseSerializer<Other>)? {
        var other = JSONResponseSerializer<Other>()
        (other.rules, other.decoder, other.removesNulls) = (self.rules, self.decoder, self.removesNulls)
        return other
    }

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
            // The decoder's own message would quote the body.
            _ = try response.json()
            throw response.error(.mismatch(error, format: "JSON"))
        }
    }
}

/// The property-list body as a `Decodable` value.
///
/// An empty body is nil for an `Optional` value and an error for all others.
public struct PropertyListResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    /// The conditions: a status from 200 to 299, and the content type of a property list.
    public var rules = [ResponseRule.success, .contentType(["application/x-plist"])]

    /// A serializer with the defaults.
    public init(_ type: Value.Type = Value.self) {}

    /// The same settings for values of another type.
    public func serializer<Other: Decodable & Sendable>(of type: Other.Type) -> (any ResponseSerializer<Other>)? {
        var other = PropertyListResponseSerializer<Other>()
        other.rules = self.rules
        return other
    }

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

/// The value of the first serializer that succeeds; the body itself if none does.
public struct CompoundResponseSerializer: ResponseSerializer {
    /// The conditions before any serializer is tried: a status from 200 to 299.
    public var rules = [ResponseRule.success]
    /// The serializers, in the order of attempts.
    public var serializers: [any ResponseSerializer]

    /// Tries these serializers.
    public init(_ serializers: [any ResponseSerializer]) { self.serializers = serializers }

    /// The first value, or `Data` if every serializer fails.
    public func decode(_ response: ReceivedResponse) -> any Sendable {
        for serializer in self.serializers {
            if let value = try? serializer.value(of: response) { return value }
        }
        return Data(response.body)
    }
}

/// A type with a value for absence: nil.
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

    /// The value for an empty body.
    fileprivate func absentValue<Value>() throws(ResponseSerializationError) -> Value {
        guard let value = (Value.self as? any AbsentValue.Type)?.absent as? Value else { throw self.error(.emptyBody) }
        return value
    }
}

extension ResponseSerializationError.Reason {
    /// A decoder's error, without the value that it quotes.
    fileprivate static func mismatch(_ error: any Error, format: String) -> Self {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            .mismatch(path: context.codingPath.text, problem: "\(format) has no member \(key.stringValue)")
        case DecodingError.valueNotFound(let type, let context):
            .mismatch(path: context.codingPath.text, problem: "\(format) has no value for \(type)")
        case DecodingError.typeMismatch(let type, let context):
            .mismatch(path: context.codingPath.text, problem: "the value is not \(type)")
        case DecodingError.dataCorrupted(let context):
            .mismatch(path: context.codingPath.text, problem: "the value has the right type but is not valid")
        default: .mismatch(path: "", problem: "decoding failed with \(type(of: error))")
        }
    }
}
