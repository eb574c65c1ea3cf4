extension String {
    /// The text with control characters escaped, so that names and responses cannot control the reader's terminal.
    var escapingControls: String {
        guard self.unicodeScalars.contains(where: String.isControl) else { return self }
        var text = ""
        for scalar in self.unicodeScalars {
            text += String.isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
        return text
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
