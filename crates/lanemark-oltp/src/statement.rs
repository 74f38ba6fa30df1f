//! The statements of the five transactions, in SQL that every supported database understands.
//!
//! Parameters are `$1`, `$2`, … in the order of their first appearance. If a database requires different SQL, its
//! module replaces the text of that statement.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        /// A statement that is prepared once per connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Statement { $($(#[$doc])* $name),* }

        impl Statement {
            /// All statements, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the statement's SQL.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

statements! {
    /// Reads a warehouse's tax.
    WarehouseTax = "SELECT w_tax FROM warehouse WHERE w_id = $1";
    /// Takes a district's next order number.
    TakeOrderNumber = "UPDATE district SET d_next_o_id = d_next_o_id + 1 \
        WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id - 1, d_tax";
    /// Reads the customer's fields for an order.
    OrderCustomer = "SELECT c_discount, c_last, c_credit FROM customer \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// Enters an order.
    InsertOrder = "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
        o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)";
    /// Marks the order as open.
    InsertNewOrder = "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)";
    /// Reads the price, name and data of an item.
    Item = "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1";
    /// Takes items from the stock; first adds to the stock if it would run out.
    TakeStock = "UPDATE stock SET s_quantity = s_quantity - $1 + \
        CASE WHEN s_quantity - $1 >= 10 THEN 0 ELSE 91 END, \
        s_ytd = s_ytd + $1, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $2 \
        WHERE s_w_id = $3 AND s_i_id = $4 RETURNING s_quantity, CASE CAST($5 AS INTEGER) WHEN 1 THEN s_dist_01 \
        WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 \
        WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 \
        ELSE s_dist_10 END, s_data";
    /// Enters a line of an order.
    InsertOrderLine = "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
        ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
        VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)";
    /// Adds a payment to a warehouse.
    PayWarehouse = "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2 \
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
    /// Adds a payment to a district.
    PayDistrict = "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3 \
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
    /// Selects the customers with a last name, ordered by first name.
    CustomersByName = "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 \
        AND c_last = $3 ORDER BY c_first, c_id";
    /// Adds a payment to a customer.
    PayCustomer = "UPDATE customer SET c_balance = c_balance - $1, \
        c_ytd_payment = c_ytd_payment + $1, c_payment_cnt = c_payment_cnt + 1 \
        WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4 RETURNING c_credit, c_first, c_middle, \
        c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, \
        c_discount, c_balance";
    /// Reads the notes about a customer with bad credit.
    CustomerData = "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// Replaces the notes about a customer with bad credit.
    NoteCustomer = "UPDATE customer SET c_data = $1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4";
    /// Records a payment.
    InsertHistory = "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
        h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    /// Reads the customer's fields for Order-Status.
    StatusCustomer = "SELECT c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// Reads a customer's last order.
    LastOrder = "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 \
        AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1";
    /// Reads the lines of an order.
    OrderLines = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    /// Selects a district's oldest open order.
    OldestOpen = "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 \
        ORDER BY no_o_id LIMIT 1";
    /// Closes an open order.
    CloseOrder = "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3";
    /// Sets the carrier of an order.
    CarryOrder = "UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 \
        AND o_id = $4 RETURNING o_c_id";
    /// Marks an order's lines as delivered.
    DeliverLines = "UPDATE order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 \
        AND ol_o_id = $4";
    /// Sums the price of an order.
    OrderAmount = "SELECT CAST(SUM(ol_amount) AS BIGINT) FROM order_line WHERE ol_w_id = $1 \
        AND ol_d_id = $2 AND ol_o_id = $3";
    /// Charges a customer for a delivery.
    ChargeCustomer = "UPDATE customer SET c_balance = c_balance + $1, \
        c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4";
    /// Reads a district's next order number.
    NextOrderNumber = "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
    /// Counts the items of the last orders whose stock is low.
    LowItems = "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
        WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_w_id = $1 \
        AND s_quantity < $5";
}
