/// An image in its original encoding.
public struct ImageData: Sendable, Hashable {
    /// The file's bytes.
    public let bytes: [UInt8]
    /// The media type detected from the bytes, such as `image/png`.
    public let type: String
}

/// The body as the bytes of an image, with their type.
public struct ImageResponseSerializer: ResponseSerializer {
    /// The conditions: a status from 200 to 299, and one of AFNetworking's ten content types, WebP or AVIF.
    public var rules = [
        ResponseRule.success,
        .contentType([
            "image/tiff", "image/jpeg", "image/gif", "image/png", "image/ico", "image/x-icon", "image/bmp",
            "image/x-bmp", "image/x-xbitmap", "image/x-win-bitmap", "image/webp", "image/avif",
        ]),
    ]

    /// A serializer with the defaults.
    public init() {}

    /// The image; an error if its first bytes match no known format.
    public func decode(_ response: ReceivedResponse) throws(ResponseSerializationError) -> ImageData {
        guard !response.body.isEmpty else { throw response.error(.emptyBody) }
        guard let type = ImageResponseSerializer.type(of: response.body) else { throw response.error(.unknownImage) }
        return ImageData(bytes: response.body, type: type)
    }

    // The signatures of WHATWG's MIME sniffing standard, and those of TIFF, AVIF and X bitmaps.
    private static func type(of bytes: [UInt8]) -> String? {
        let signatures: [([UInt8], String)] = [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"), ([0xFF, 0xD8, 0xFF], "image/jpeg"),
            (Array("GIF87a".utf8), "image/gif"), (Array("GIF89a".utf8), "image/gif"),
            (Array("BM".utf8), "image/bmp"), ([0, 0, 1, 0], "image/x-icon"), ([0, 0, 2, 0], "image/x-icon"),
            ([0x49, 0x49, 0x2A, 0], "image/tiff"), ([0x4D, 0x4D, 0, 0x2A], "image/tiff"),
            (Array("#define ".utf8), "image/x-xbitmap"),
        ]
        if let known = signatures.first(where: { bytes.starts(with: $0.0) }) { return known.1 }
        if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) { return "image/webp" }
        return bytes.dropFirst(4).starts(with: "ftypavif".utf8) ? "image/avif" : nil
    }
}
