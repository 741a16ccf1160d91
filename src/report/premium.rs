//! Which models cost a premium request.

use serde::{Deserialize, Serialize};

/// Which models cost a premium request, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PremiumTable {
    /// Models that cost one.
    pub premium: Vec<String>,
    /// Models that cost none (multiplier 0).
    pub free: Vec<String>,
}

impl Default for PremiumTable {
    fn default() -> Self {
        let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
        Self {
            premium: names(["claude-sonnet-4.5", "claude-4", "gpt-5"]),
            free: names(["gpt-4.1", "gpt-5-mini", "gpt-4o"]),
        }
    }
}

impl PremiumTable {
    /// Whether a request to this model costs a premium request. A model in neither list or in
    /// both counts as premium, and so does the agent's default model (`None`): spending a budget
    /// too early is the safe mistake.
    pub fn is_premium(&self, model: Option<&str>) -> bool {
        let listed = |list: &[String]| model.is_some_and(|model| list.iter().any(|m| m == model));
        listed(&self.premium) || !listed(&self.free)
    }

    /// Whether this model is in the list of premium models.
    pub fn lists(&self, model: &str) -> bool {
        self.premium.iter().any(|listed| listed == model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_model_known_to_be_free_is_free() {
        let table = PremiumTable::default();
        for free in ["gpt-4.1", "gpt-5-mini", "gpt-4o"] {
            assert!(!table.is_premium(Some(free)) && !table.lists(free), "{free}");
        }
        for premium in ["claude-sonnet-4.5", "claude-4", "gpt-5", "gpt-6", "GPT-4o", ""] {
            assert!(table.is_premium(Some(premium)), "{premium}");
        }
        assert!(table.is_premium(None));
        // Only known premium models are listed.
        assert!(table.lists("gpt-5") && !table.lists("gpt-6") && !table.lists(""));
    }

    #[test]
    fn a_list_of_the_users_takes_the_place_of_ours() {
        let table: PremiumTable =
            serde_json::from_str(r#"{"free":["local","both"],"premium":["both"]}"#).expect("table");
        assert!(!table.is_premium(Some("local")));
        assert!(table.is_premium(Some("gpt-4o")));
        assert!(table.is_premium(Some("both")));
        serde_json::from_str::<PremiumTable>(r#"{"fre":[]}"#).expect_err("a misspelt key");
    }
}
