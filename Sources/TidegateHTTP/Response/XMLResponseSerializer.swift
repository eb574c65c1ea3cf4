/// The body as a tree of XML elements.
///
/// An empty body is an error.
public struct XMLResponseSerializer: ResponseSerializer {
    /// The conditions: a status from 200 to 299, and an XML content type.
    public var rules = [ResponseRule.success, .contentType(["application/xml", "text/xml"])]

    /// A serializer with the defaults.
    public init() {}

    /// The root element.
    ///
    /// The charset comes from a byte order mark, or else the content type, or else the XML declaration; the default is
    /// UTF-8.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> XMLValue {
        guard !response.isBlank else { throw response.error(.emptyBody) }
        let text = try response.text(in: self.charset(of: response))
        return try Result { () throws(XMLError) in try XMLValue(parsing: text) }
            .mapError { response.error(.invalidXML($0)) }.get()
    }

    private func charset(of response: ReceivedResponse) -> String {
        let body = response.body
        if body.starts(with: [0xFE, 0xFF]) || body.starts(with: [0xFF, 0xFE]) { return "utf-16" }
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { return "utf-8" }
        if let charset = response.charset { return charset }
        let declaration = String(decoding: body.prefix(200), as: UTF8.self)
        guard declaration.hasPrefix("<?xml"), let end = declaration.firstRange(of: "?>"),
            let key = declaration[..<end.lowerBound].firstRange(of: "encoding")
        else { return "utf-8" }
        let parts = declaration[key.upperBound..<end.lowerBound].split { $0 == "\"" || $0 == "'" }
        return parts.count > 1 ? String(parts[1]) : "utf-8"
    }
}
