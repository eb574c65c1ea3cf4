extension String {
    /// The text without what would move a terminal's cursor or change its colours: whoever named a task or answered a
    /// request may not be who reads of it.
    var visible: String {
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
